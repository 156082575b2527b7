/** A CEL rule of a schema, as an API server reads it. */
export interface ValidationRule {
  rule: string
  message?: string
  /** Where the problem is, relative to the value that the rule stands on: `.spec.realm`. */
  fieldPath?: string
  reason?: string
}

/** The part of a structural schema (Kubernetes CRD, openAPIV3Schema) that our four kinds use. */
export interface StructuralSchema {
  type?: string
  format?: string
  default?: unknown
  enum?: string[]
  pattern?: string
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
  maxProperties?: number
  required?: string[]
  properties?: Record<string, StructuralSchema>
  additionalProperties?: StructuralSchema
  items?: StructuralSchema
  'x-kubernetes-list-type'?: 'atomic' | 'set' | 'map'
  'x-kubernetes-list-map-keys'?: string[]
  'x-kubernetes-map-type'?: 'atomic' | 'granular'
  'x-kubernetes-validations'?: ValidationRule[]
}

/** One kind with its schema. */
export interface KindSchema {
  kind: string
  plural: string
  apiVersion: string
  schema: StructuralSchema
}
