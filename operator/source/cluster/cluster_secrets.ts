import { API_VERSION } from '../../../crds/group.ts'
import { ResourceConflict } from '../resource_source.ts'
import type { DesiredSecret, Secret, SecretAccess, SecretName, SecretVersion } from '../resource_source.ts'
import { JSON_PATCH } from '../../../kubernetes/api_client.ts'
import type { ApiClient } from '../../../kubernetes/api_client.ts'
import { isNamespaceTerminating, isStatus } from '../../../kubernetes/api_error.ts'
import type { ApiObject } from '../../../kubernetes/api_object.ts'
import { AS_OPERATOR, corePath } from './api_names.ts'
import type { MetadataCache } from './metadata_cache.ts'
import { foreignManagersOf } from './received_object.ts'

/** Secrets of a cluster: versions come from the watch of their metadata, bytes from a read of one Secret. */
export function clusterSecrets(options: { client: ApiClient; versions: MetadataCache<SecretVersion> }): SecretAccess {
  const { client, versions } = options

  return {
    version: (name) => versions.get(name),

    async read(name) {
      const object = await client.find({ path: secretPath(name) })
      return object && secretOf(object)
    },

    async create(desired) {
      const { namespace, name, labels, annotations, data } = desired
      const body = {
        apiVersion: 'v1',
        kind: 'Secret',
        type: 'Opaque',
        metadata: { namespace, name, labels, ...(annotations && { annotations }), ...ownerOf(desired) },
        data: encoded(data),
      }
      try {
        const path = corePath('secrets', namespace)
        return versionOf(await client.object({ method: 'POST', path, query: AS_OPERATOR, body }))
      } catch (error) {
        if (isStatus(error, 409)) throw new ResourceConflict(`Secret ${namespace}/${name} exists already`)
        if (isStatus(error, 404) || isNamespaceTerminating(error)) {
          throw new ResourceConflict(
            `Secret ${name} cannot be created: namespace ${namespace} is missing or being deleted`,
          )
        }
        throw error
      }
    },

    async update(desired, version) {
      const { namespace, name, labels, annotations = {}, data } = desired
      // A patch keeps what others set, as finalizers, and the type, which is immutable.
      const body = [
        { op: 'replace', path: '/metadata/resourceVersion', value: version.resourceVersion },
        { op: 'add', path: '/metadata/labels', value: labels },
        { op: 'add', path: '/metadata/annotations', value: annotations },
        { op: 'add', path: '/data', value: encoded(data) },
      ]
      try {
        const path = secretPath(desired)
        const contentType = JSON_PATCH
        const object = await client.object({ method: 'PATCH', path, query: AS_OPERATOR, contentType, body })
        versions.merge(object)
        return versionOf(object)
      } catch (error) {
        if (isStatus(error, 404, 409)) {
          throw new ResourceConflict(`Secret ${namespace}/${name} was changed or deleted since it was read`)
        }
        throw error
      }
    },

    async delete(name) {
      try {
        await client.object({ method: 'DELETE', path: secretPath(name) })
      } catch (error) {
        if (!isStatus(error, 404)) throw error
      }
    },
  }
}

function secretPath({ namespace, name }: SecretName): string {
  return `${corePath('secrets', namespace)}/${encodeURIComponent(name)}`
}

function secretOf(object: ApiObject): Secret {
  const { name, namespace = '', labels = {}, annotations = {}, ownerReferences, managedFields } = object.metadata
  const controllerUid = ownerReferences?.find(({ controller }) => controller === true)?.uid
  const data = Object.entries(object.data ?? {})
  return {
    namespace,
    name,
    version: versionOf(object),
    labels,
    annotations,
    ...(controllerUid !== undefined && { controllerUid }),
    foreignManagers: foreignManagersOf('data', managedFields),
    data: Object.fromEntries(data.map(([key, text]) => [key, Buffer.from(String(text), 'base64')])),
  }
}

function versionOf({ metadata: { uid, resourceVersion } }: ApiObject): SecretVersion {
  return { uid, resourceVersion }
}

function encoded(data: DesiredSecret['data']): Record<string, string> {
  return Object.fromEntries(Object.entries(data).map(([key, bytes]) => [key, bytes.toString('base64')]))
}

function ownerOf({ controller }: DesiredSecret): object {
  if (!controller) return {}
  const { name, uid } = controller.metadata
  const owner = { apiVersion: API_VERSION, kind: controller.kind, name, uid, controller: true }
  // Without blockOwnerDeletion, which may require the right to update the finalizers of the owner.
  return { ownerReferences: [owner] }
}
