// Generated from crds by "npm run generate". Do not edit.
import type { KindSchema } from './validation/schema.ts'

export const realmSchema: KindSchema = {
 "kind": "Realm",
 "plural": "realms",
 "apiVersion": "realmkeeper.io/v1alpha1",
 "schema": {
  "type": "object",
  "required": [
   "spec"
  ],
  "x-kubernetes-validations": [
   {
    "rule": "has(self.spec.realm) || (self.metadata.name.size() <= 63 && self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$'))",
    "message": "without spec.realm the realm is called as metadata.name, which is no DNS label (at most 63 lower-case letters, digits and hyphens); set spec.realm",
    "fieldPath": ".spec.realm"
   },
   {
    "rule": "!((has(self.spec.realm) ? self.spec.realm : self.metadata.name) in ['master', 'admin'])",
    "message": "the realm names master and admin are reserved",
    "fieldPath": ".spec.realm"
   },
   {
    "rule": "has(self.spec.realm) || !has(oldSelf.spec.realm)",
    "message": "realm is immutable and cannot be removed once it is set",
    "fieldPath": ".spec.realm"
   },
   {
    "rule": "!has(self.spec.realm) || self.spec.realm == (has(oldSelf.spec.realm) ? oldSelf.spec.realm : self.metadata.name)",
    "message": "realm is immutable; where it was not set it can only be set to the name in use, metadata.name",
    "fieldPath": ".spec.realm"
   }
  ],
  "properties": {
   "apiVersion": {
    "type": "string"
   },
   "kind": {
    "type": "string"
   },
   "metadata": {
    "type": "object"
   },
   "spec": {
    "type": "object",
    "x-kubernetes-validations": [
     {
      "rule": "self.tokens.accessTokenLifetimeSeconds <= self.tokens.refreshTokenLifetimeSeconds",
      "message": "accessTokenLifetimeSeconds cannot be more than refreshTokenLifetimeSeconds",
      "fieldPath": ".tokens.accessTokenLifetimeSeconds"
     },
     {
      "rule": "self.tokens.refreshTokenLifetimeSeconds <= self.tokens.sessionLifetimeSeconds",
      "message": "refreshTokenLifetimeSeconds cannot be more than sessionLifetimeSeconds",
      "fieldPath": ".tokens.refreshTokenLifetimeSeconds"
     },
     {
      "rule": "self.bruteForceProtection.waitIncrementSeconds <= self.bruteForceProtection.maxWaitSeconds",
      "message": "waitIncrementSeconds cannot be more than maxWaitSeconds",
      "fieldPath": ".bruteForceProtection.waitIncrementSeconds"
     },
     {
      "rule": "self.passwordHashing.memoryKiB * self.passwordHashing.iterations <= 2097152",
      "message": "memoryKiB times iterations cannot be more than 2097152: one login would keep a core busy for seconds",
      "fieldPath": ".passwordHashing.memoryKiB"
     },
     {
      "rule": "has(self.allowedNamespaces.selector) == (self.allowedNamespaces.from == 'Selector')",
      "message": "selector belongs to from Selector, and from Selector needs it",
      "fieldPath": ".allowedNamespaces.selector"
     }
    ],
    "properties": {
     "realm": {
      "type": "string",
      "minLength": 1,
      "maxLength": 63,
      "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
     },
     "displayName": {
      "type": "string",
      "maxLength": 255,
      "pattern": "^[^\\x00-\\x1f\\x7f]*$"
     },
     "enabled": {
      "type": "boolean",
      "default": true
     },
     "roles": {
      "type": "array",
      "maxItems": 512,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": [
       "name"
      ],
      "items": {
       "type": "object",
       "required": [
        "name"
       ],
       "properties": {
        "name": {
         "type": "string",
         "minLength": 1,
         "maxLength": 255,
         "pattern": "^[^\\x00-\\x20\\x7f]([^\\x00-\\x1f\\x7f]*[^\\x00-\\x20\\x7f])?$",
         "x-kubernetes-validations": [
          {
           "rule": "!self.startsWith('_svc_') && !self.startsWith('default-roles-') && self != 'svc-realm-admin'",
           "message": "names that begin with _svc_ or default-roles-, and svc-realm-admin, are reserved; these roles exist by themselves"
          }
         ]
        },
        "description": {
         "type": "string",
         "maxLength": 1024,
         "pattern": "^[^\\x00-\\x08\\x0b-\\x1f\\x7f]*$"
        },
        "composites": {
         "type": "array",
         "maxItems": 64,
         "x-kubernetes-list-type": "set",
         "items": {
          "type": "string",
          "minLength": 1,
          "maxLength": 255,
          "x-kubernetes-validations": [
           {
            "rule": "!self.startsWith('_svc_') && !self.startsWith('default-roles-') && self != 'svc-realm-admin'",
            "message": "a reserved role (_svc_…, default-roles-…, svc-realm-admin) cannot be part of another; give it with a RoleAssignment"
           }
          ]
         }
        }
       }
      }
     },
     "tokens": {
      "type": "object",
      "default": {},
      "properties": {
       "accessTokenLifetimeSeconds": {
        "type": "integer",
        "format": "int32",
        "default": 300,
        "minimum": 1,
        "maximum": 86400
       },
       "refreshTokenLifetimeSeconds": {
        "type": "integer",
        "format": "int32",
        "default": 1800,
        "minimum": 1,
        "maximum": 31536000
       },
       "sessionLifetimeSeconds": {
        "type": "integer",
        "format": "int32",
        "default": 36000,
        "minimum": 1,
        "maximum": 31536000
       },
       "refreshTokenReuseGraceSeconds": {
        "type": "integer",
        "format": "int32",
        "default": 0,
        "minimum": 0,
        "maximum": 300
       },
       "signingAlgorithm": {
        "type": "string",
        "default": "RS256",
        "enum": [
         "RS256",
         "PS256",
         "ES256",
         "ES384",
         "EdDSA"
        ]
       },
       "notBefore": {
        "type": "string",
        "format": "date-time",
        "maxLength": 64
       }
      }
     },
     "bruteForceProtection": {
      "type": "object",
      "default": {},
      "properties": {
       "enabled": {
        "type": "boolean",
        "default": true
       },
       "maxFailures": {
        "type": "integer",
        "format": "int32",
        "default": 10,
        "minimum": 1,
        "maximum": 1000
       },
       "waitIncrementSeconds": {
        "type": "integer",
        "format": "int32",
        "default": 60,
        "minimum": 1,
        "maximum": 86400
       },
       "maxWaitSeconds": {
        "type": "integer",
        "format": "int32",
        "default": 900,
        "minimum": 1,
        "maximum": 86400
       },
       "failureResetSeconds": {
        "type": "integer",
        "format": "int32",
        "default": 43200,
        "minimum": 1,
        "maximum": 2592000
       }
      }
     },
     "passwordHashing": {
      "type": "object",
      "default": {},
      "properties": {
       "memoryKiB": {
        "type": "integer",
        "format": "int32",
        "default": 7168,
        "minimum": 1024,
        "maximum": 262144
       },
       "iterations": {
        "type": "integer",
        "format": "int32",
        "default": 5,
        "minimum": 1,
        "maximum": 64
       },
       "parallelism": {
        "type": "integer",
        "format": "int32",
        "default": 1,
        "minimum": 1,
        "maximum": 8
       }
      }
     },
     "identityProvider": {
      "type": "object",
      "required": [
       "alias"
      ],
      "properties": {
       "alias": {
        "type": "string",
        "minLength": 1,
        "maxLength": 63,
        "pattern": "^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$"
       },
       "licenseSecretRef": {
        "type": "object",
        "required": [
         "name"
        ],
        "properties": {
         "name": {
          "type": "string",
          "minLength": 1,
          "maxLength": 253,
          "pattern": "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"
         },
         "key": {
          "type": "string",
          "default": "license",
          "minLength": 1,
          "maxLength": 253,
          "pattern": "^[-._a-zA-Z0-9]+$"
         }
        }
       }
      }
     },
     "identityGovernance": {
      "type": "object",
      "default": {},
      "properties": {
       "enabled": {
        "type": "boolean",
        "default": false
       },
       "requiredApprovals": {
        "type": "integer",
        "format": "int32",
        "default": 1,
        "minimum": 1,
        "maximum": 16
       },
       "pendingTimeoutSeconds": {
        "type": "integer",
        "format": "int32",
        "minimum": 1,
        "maximum": 31536000
       }
      }
     },
     "fieldEncryption": {
      "type": "object",
      "properties": {
       "fields": {
        "type": "array",
        "maxItems": 64,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": [
         "name"
        ],
        "x-kubernetes-validations": [
         {
          "rule": "self.all(a, self.exists_one(b, (has(a.tag) ? a.tag : a.name.lowerAscii()) == (has(b.tag) ? b.tag : b.name.lowerAscii())))",
          "message": "two fields have the same tag (without one, the tag is the name in lower case); tags are unique in a realm",
          "reason": "FieldValueDuplicate"
         }
        ],
        "items": {
         "type": "object",
         "required": [
          "name"
         ],
         "x-kubernetes-validations": [
          {
           "rule": "has(self.tag) || self.name.matches('^[A-Za-z0-9_]{1,48}$')",
           "message": "the name cannot serve as tag (letters, digits and underscores, at most 48); set tag",
           "fieldPath": ".tag",
           "reason": "FieldValueRequired"
          }
         ],
         "properties": {
          "name": {
           "type": "string",
           "minLength": 1,
           "maxLength": 128,
           "pattern": "^[^\\x00-\\x20\\x7f]([^\\x00-\\x1f\\x7f]*[^\\x00-\\x20\\x7f])?$"
          },
          "tag": {
           "type": "string",
           "minLength": 1,
           "maxLength": 48,
           "pattern": "^[a-z0-9_]{1,48}$"
          },
          "binding": {
           "type": "string",
           "default": "Realm",
           "enum": [
            "Realm",
            "Subject"
           ]
          },
          "maxValueBytes": {
           "type": "integer",
           "format": "int32",
           "default": 4096,
           "minimum": 1,
           "maximum": 65536
          }
         }
        }
       }
      }
     },
     "keyRotation": {
      "type": "object",
      "default": {},
      "properties": {
       "signingKeyPeriodDays": {
        "type": "integer",
        "format": "int32",
        "default": 90,
        "minimum": 1,
        "maximum": 3650
       },
       "encryptionKeyPeriodDays": {
        "type": "integer",
        "format": "int32",
        "default": 365,
        "minimum": 1,
        "maximum": 3650
       }
      }
     },
     "allowedNamespaces": {
      "type": "object",
      "default": {},
      "properties": {
       "from": {
        "type": "string",
        "default": "Same",
        "enum": [
         "Same",
         "All",
         "Selector"
        ]
       },
       "selector": {
        "type": "object",
        "properties": {
         "matchLabels": {
          "type": "object",
          "maxProperties": 32,
          "x-kubernetes-map-type": "atomic",
          "additionalProperties": {
           "type": "string",
           "maxLength": 63
          }
         },
         "matchExpressions": {
          "type": "array",
          "maxItems": 32,
          "x-kubernetes-list-type": "atomic",
          "items": {
           "type": "object",
           "required": [
            "key",
            "operator"
           ],
           "x-kubernetes-validations": [
            {
             "rule": "(self.operator in ['In', 'NotIn']) == (has(self.values) && self.values.size() > 0)",
             "message": "In and NotIn need values; Exists and DoesNotExist have none",
             "fieldPath": ".values"
            }
           ],
           "properties": {
            "key": {
             "type": "string",
             "minLength": 1,
             "maxLength": 317
            },
            "operator": {
             "type": "string",
             "enum": [
              "In",
              "NotIn",
              "Exists",
              "DoesNotExist"
             ]
            },
            "values": {
             "type": "array",
             "maxItems": 32,
             "x-kubernetes-list-type": "set",
             "items": {
              "type": "string",
              "maxLength": 63
             }
            }
           }
          }
         }
        }
       }
      }
     },
     "deletionPolicy": {
      "type": "string",
      "default": "Retain",
      "enum": [
       "Retain",
       "Delete"
      ]
     }
    }
   },
   "status": {
    "type": "object",
    "properties": {
     "observedGeneration": {
      "type": "integer",
      "format": "int64",
      "minimum": 0
     },
     "issuer": {
      "type": "string",
      "maxLength": 2048
     },
     "defaultRoles": {
      "type": "array",
      "maxItems": 1024,
      "x-kubernetes-list-type": "set",
      "items": {
       "type": "string",
       "maxLength": 255
      }
     },
     "encryptionFields": {
      "type": "array",
      "maxItems": 64,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": [
       "name"
      ],
      "items": {
       "type": "object",
       "required": [
        "name",
        "tag",
        "encryptRole",
        "decryptRole"
       ],
       "properties": {
        "name": {
         "type": "string",
         "maxLength": 128
        },
        "tag": {
         "type": "string",
         "maxLength": 48
        },
        "encryptRole": {
         "type": "string",
         "maxLength": 255
        },
        "decryptRole": {
         "type": "string",
         "maxLength": 255
        }
       }
      }
     },
     "keys": {
      "type": "object",
      "properties": {
       "signing": {
        "type": "array",
        "maxItems": 256,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": [
         "kid"
        ],
        "items": {
         "type": "object",
         "required": [
          "kid",
          "algorithm",
          "state"
         ],
         "properties": {
          "kid": {
           "type": "string",
           "maxLength": 128
          },
          "algorithm": {
           "type": "string",
           "maxLength": 16
          },
          "state": {
           "type": "string",
           "enum": [
            "pending",
            "active",
            "passive"
           ]
          },
          "fingerprint": {
           "type": "string",
           "maxLength": 64
          },
          "since": {
           "type": "string",
           "format": "date-time",
           "maxLength": 64
          }
         }
        }
       },
       "refresh": {
        "type": "array",
        "maxItems": 256,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": [
         "kid"
        ],
        "items": {
         "type": "object",
         "required": [
          "kid",
          "state"
         ],
         "properties": {
          "kid": {
           "type": "string",
           "maxLength": 128
          },
          "state": {
           "type": "string",
           "enum": [
            "pending",
            "active",
            "passive"
           ]
          },
          "fingerprint": {
           "type": "string",
           "maxLength": 64
          },
          "since": {
           "type": "string",
           "format": "date-time",
           "maxLength": 64
          }
         }
        }
       },
       "encryption": {
        "type": "array",
        "maxItems": 1024,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": [
         "version"
        ],
        "items": {
         "type": "object",
         "required": [
          "version",
          "state",
          "fingerprint"
         ],
         "properties": {
          "version": {
           "type": "integer",
           "format": "int64",
           "minimum": 1
          },
          "state": {
           "type": "string",
           "enum": [
            "pending",
            "primary",
            "decrypt_only",
            "disabled",
            "destroyed"
           ]
          },
          "fingerprint": {
           "type": "string",
           "maxLength": 64
          },
          "since": {
           "type": "string",
           "format": "date-time",
           "maxLength": 64
          }
         }
        }
       }
      }
     },
     "conditions": {
      "type": "array",
      "maxItems": 32,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": [
       "type"
      ],
      "items": {
       "type": "object",
       "required": [
        "type",
        "status",
        "reason",
        "message",
        "lastTransitionTime"
       ],
       "properties": {
        "type": {
         "type": "string",
         "maxLength": 316,
         "pattern": "^[A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?$"
        },
        "status": {
         "type": "string",
         "enum": [
          "True",
          "False",
          "Unknown"
         ]
        },
        "reason": {
         "type": "string",
         "minLength": 1,
         "maxLength": 1024,
         "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"
        },
        "message": {
         "type": "string",
         "maxLength": 32768
        },
        "observedGeneration": {
         "type": "integer",
         "format": "int64",
         "minimum": 0
        },
        "lastTransitionTime": {
         "type": "string",
         "format": "date-time",
         "maxLength": 64
        }
       }
      }
     }
    }
   }
  }
 }
}

export const clientSchema: KindSchema = {
 "kind": "Client",
 "plural": "clients",
 "apiVersion": "realmkeeper.io/v1alpha1",
 "schema": {
  "type": "object",
  "required": [
   "spec"
  ],
  "x-kubernetes-validations": [
   {
    "rule": "self.spec.type != 'Confidential' || (has(self.spec.clientSecret) && (has(self.spec.clientSecret.secretRef) || (has(self.spec.clientSecret.generate) && has(self.spec.clientSecret.generate.secretName)))) || self.metadata.name.size() <= 246",
    "message": "metadata.name is too long for a Secret called <metadata.name>-client; set clientSecret.generate.secretName",
    "fieldPath": ".spec.clientSecret"
   }
  ],
  "properties": {
   "apiVersion": {
    "type": "string"
   },
   "kind": {
    "type": "string"
   },
   "metadata": {
    "type": "object"
   },
   "spec": {
    "type": "object",
    "required": [
     "realmRef",
     "clientId"
    ],
    "x-kubernetes-validations": [
     {
      "rule": "self.type != 'Public' || !has(self.clientSecret)",
      "message": "a Public client has no secret; remove clientSecret or make the type Confidential",
      "fieldPath": ".clientSecret"
     }
    ],
    "properties": {
     "realmRef": {
      "type": "object",
      "required": [
       "name"
      ],
      "x-kubernetes-validations": [
       {
        "rule": "self == oldSelf",
        "message": "realmRef is immutable; delete the object and create it anew"
       }
      ],
      "properties": {
       "name": {
        "type": "string",
        "minLength": 1,
        "maxLength": 253,
        "pattern": "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"
       },
       "namespace": {
        "type": "string",
        "minLength": 1,
        "maxLength": 63,
        "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
       }
      }
     },
     "clientId": {
      "type": "string",
      "minLength": 1,
      "maxLength": 255,
      "pattern": "^[A-Za-z0-9._-]{1,255}$",
      "x-kubernetes-validations": [
       {
        "rule": "self == oldSelf",
        "message": "clientId is immutable; delete the Client and create another one"
       }
      ]
     },
     "name": {
      "type": "string",
      "maxLength": 255,
      "pattern": "^[^\\x00-\\x1f\\x7f]*$"
     },
     "description": {
      "type": "string",
      "maxLength": 1024,
      "pattern": "^[^\\x00-\\x08\\x0b-\\x1f\\x7f]*$"
     },
     "enabled": {
      "type": "boolean",
      "default": true
     },
     "type": {
      "type": "string",
      "default": "Confidential",
      "enum": [
       "Confidential",
       "Public"
      ]
     },
     "clientSecret": {
      "type": "object",
      "x-kubernetes-validations": [
       {
        "rule": "!(has(self.secretRef) && has(self.generate))",
        "message": "either secretRef or generate",
        "fieldPath": ".generate"
       }
      ],
      "properties": {
       "secretRef": {
        "type": "object",
        "required": [
         "name"
        ],
        "properties": {
         "name": {
          "type": "string",
          "minLength": 1,
          "maxLength": 253,
          "pattern": "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"
         },
         "key": {
          "type": "string",
          "default": "client_secret",
          "minLength": 1,
          "maxLength": 253,
          "pattern": "^[-._a-zA-Z0-9]+$"
         }
        }
       },
       "generate": {
        "type": "object",
        "properties": {
         "secretName": {
          "type": "string",
          "minLength": 1,
          "maxLength": 253,
          "pattern": "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"
         }
        }
       },
       "previousValidSeconds": {
        "type": "integer",
        "format": "int32",
        "default": 0,
        "minimum": 0,
        "maximum": 2592000
       }
      }
     },
     "redirectUris": {
      "type": "array",
      "maxItems": 64,
      "x-kubernetes-list-type": "set",
      "items": {
       "type": "string",
       "minLength": 1,
       "maxLength": 2048,
       "pattern": "^[\\x21-\\x7e]+$",
       "x-kubernetes-validations": [
        {
         "rule": "!self.contains('*')",
         "message": "no wildcard in a redirect URI; list each one"
        },
        {
         "rule": "!self.contains('#')",
         "message": "no fragment (#) in a redirect URI (RFC 6749 section 3.1.2)"
        },
        {
         "rule": "self.startsWith('https://') || self.startsWith('http://') || self.matches('^[a-z][a-z0-9+-]*([.][a-z0-9+-]+)+:/[^/]')",
         "message": "the scheme is https, http (on a loopback host) or a private one with a dot, as com.example.app:/callback; javascript, data and others are refused"
        },
        {
         "rule": "!self.startsWith('http://') || self.matches('^http://(localhost|127[.]0[.]0[.]1|\\\\[::1\\\\])(:[0-9]{1,5})?([/?]|$)')",
         "message": "http only on a loopback host (localhost, 127.0.0.1, [::1]); use https"
        },
        {
         "rule": "!self.startsWith('https://') || self.matches('^https://([A-Za-z0-9._-]+|\\\\[[0-9A-Fa-f:.]+\\\\])(:[0-9]{1,5})?([/?]|$)')",
         "message": "https:// is followed by a host, without a user part, and an optional port"
        }
       ]
      }
     },
     "webOrigins": {
      "type": "array",
      "maxItems": 64,
      "x-kubernetes-list-type": "set",
      "items": {
       "type": "string",
       "minLength": 1,
       "maxLength": 512,
       "x-kubernetes-validations": [
        {
         "rule": "self == '+' || self.matches('^https?://([a-z0-9._-]+|\\\\[[0-9a-f:.]+\\\\])(:[0-9]{1,5})?$')",
         "message": "an origin is scheme://host with an optional port, in lower case, without path or wildcard; or + for the origins of redirectUris"
        }
       ]
      }
     },
     "fullScopeAllowed": {
      "type": "boolean",
      "default": true
     },
     "allowedRoles": {
      "type": "array",
      "maxItems": 512,
      "x-kubernetes-list-type": "set",
      "items": {
       "type": "string",
       "minLength": 1,
       "maxLength": 255
      }
     },
     "grantTypes": {
      "type": "array",
      "default": [
       "password",
       "refresh_token"
      ],
      "maxItems": 8,
      "x-kubernetes-list-type": "set",
      "items": {
       "type": "string",
       "enum": [
        "password",
        "refresh_token"
       ]
      }
     },
     "audiences": {
      "type": "array",
      "maxItems": 64,
      "x-kubernetes-list-type": "set",
      "items": {
       "type": "string",
       "minLength": 1,
       "maxLength": 255,
       "pattern": "^[\\x21-\\x7e]+$"
      }
     },
     "acceptsTokensFrom": {
      "type": "array",
      "maxItems": 256,
      "x-kubernetes-list-type": "set",
      "items": {
       "type": "string",
       "minLength": 1,
       "maxLength": 255,
       "pattern": "^[A-Za-z0-9._-]{1,255}$"
      }
     },
     "defaultScopes": {
      "type": "array",
      "default": [
       "profile",
       "email"
      ],
      "maxItems": 64,
      "x-kubernetes-list-type": "set",
      "items": {
       "type": "string",
       "minLength": 1,
       "maxLength": 128,
       "pattern": "^[\\x21\\x23-\\x5b\\x5d-\\x7e]+$",
       "x-kubernetes-validations": [
        {
         "rule": "!self.startsWith('_svc_')",
         "message": "scopes of encrypted fields (_svc_…) are not listed; whoever holds the role may ask for them"
        }
       ]
      }
     },
     "optionalScopes": {
      "type": "array",
      "maxItems": 64,
      "x-kubernetes-list-type": "set",
      "items": {
       "type": "string",
       "minLength": 1,
       "maxLength": 128,
       "pattern": "^[\\x21\\x23-\\x5b\\x5d-\\x7e]+$",
       "x-kubernetes-validations": [
        {
         "rule": "!self.startsWith('_svc_')",
         "message": "scopes of encrypted fields (_svc_…) are not listed; whoever holds the role may ask for them"
        }
       ]
      }
     },
     "accessTokenLifetimeSeconds": {
      "type": "integer",
      "format": "int32",
      "minimum": 1,
      "maximum": 86400
     },
     "accessTokenType": {
      "type": "string",
      "default": "at+jwt",
      "enum": [
       "at+jwt",
       "JWT"
      ]
     }
    }
   },
   "status": {
    "type": "object",
    "properties": {
     "observedGeneration": {
      "type": "integer",
      "format": "int64",
      "minimum": 0
     },
     "secretName": {
      "type": "string",
      "maxLength": 253
     },
     "previousSecretValidUntil": {
      "type": "string",
      "format": "date-time",
      "maxLength": 64
     },
     "conditions": {
      "type": "array",
      "maxItems": 32,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": [
       "type"
      ],
      "items": {
       "type": "object",
       "required": [
        "type",
        "status",
        "reason",
        "message",
        "lastTransitionTime"
       ],
       "properties": {
        "type": {
         "type": "string",
         "maxLength": 316,
         "pattern": "^[A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?$"
        },
        "status": {
         "type": "string",
         "enum": [
          "True",
          "False",
          "Unknown"
         ]
        },
        "reason": {
         "type": "string",
         "minLength": 1,
         "maxLength": 1024,
         "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"
        },
        "message": {
         "type": "string",
         "maxLength": 32768
        },
        "observedGeneration": {
         "type": "integer",
         "format": "int64",
         "minimum": 0
        },
        "lastTransitionTime": {
         "type": "string",
         "format": "date-time",
         "maxLength": 64
        }
       }
      }
     }
    }
   }
  }
 }
}

export const userSchema: KindSchema = {
 "kind": "User",
 "plural": "users",
 "apiVersion": "realmkeeper.io/v1alpha1",
 "schema": {
  "type": "object",
  "required": [
   "spec"
  ],
  "x-kubernetes-validations": [
   {
    "rule": "has(self.spec.subject) || !has(oldSelf.spec.subject)",
    "message": "subject is immutable and cannot be removed once it is set",
    "fieldPath": ".spec.subject"
   },
   {
    "rule": "!has(self.spec.subject) || (has(oldSelf.spec.subject) ? self.spec.subject == oldSelf.spec.subject : has(oldSelf.status) && has(oldSelf.status.subject) && self.spec.subject == oldSelf.status.subject)",
    "message": "subject is immutable; where it was not set it can only be set to the sub in use, status.subject",
    "fieldPath": ".spec.subject"
   }
  ],
  "properties": {
   "apiVersion": {
    "type": "string"
   },
   "kind": {
    "type": "string"
   },
   "metadata": {
    "type": "object"
   },
   "spec": {
    "type": "object",
    "required": [
     "realmRef",
     "username"
    ],
    "properties": {
     "realmRef": {
      "type": "object",
      "required": [
       "name"
      ],
      "x-kubernetes-validations": [
       {
        "rule": "self == oldSelf",
        "message": "realmRef is immutable; delete the object and create it anew"
       }
      ],
      "properties": {
       "name": {
        "type": "string",
        "minLength": 1,
        "maxLength": 253,
        "pattern": "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"
       },
       "namespace": {
        "type": "string",
        "minLength": 1,
        "maxLength": 63,
        "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
       }
      }
     },
     "username": {
      "type": "string",
      "minLength": 1,
      "maxLength": 255,
      "pattern": "^[^\\x00-\\x20\\x7f]([^\\x00-\\x1f\\x7f]*[^\\x00-\\x20\\x7f])?$",
      "x-kubernetes-validations": [
       {
        "rule": "self == oldSelf",
        "message": "username is immutable; delete the User and create another one"
       },
       {
        "rule": "!self.lowerAscii().startsWith('system:')",
        "message": "user names that begin with system are reserved"
       }
      ]
     },
     "email": {
      "type": "string",
      "maxLength": 254,
      "pattern": "^[^@\\x00-\\x20\\x7f]+@[^@\\x00-\\x20\\x7f]+$"
     },
     "emailVerified": {
      "type": "boolean",
      "default": false
     },
     "firstName": {
      "type": "string",
      "maxLength": 255,
      "pattern": "^[^\\x00-\\x1f\\x7f]*$"
     },
     "lastName": {
      "type": "string",
      "maxLength": 255,
      "pattern": "^[^\\x00-\\x1f\\x7f]*$"
     },
     "enabled": {
      "type": "boolean",
      "default": true
     },
     "passwordSecretRef": {
      "type": "object",
      "required": [
       "name"
      ],
      "properties": {
       "name": {
        "type": "string",
        "minLength": 1,
        "maxLength": 253,
        "pattern": "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"
       },
       "key": {
        "type": "string",
        "default": "password",
        "minLength": 1,
        "maxLength": 253,
        "pattern": "^[-._a-zA-Z0-9]+$"
       }
      }
     },
     "attributes": {
      "type": "object",
      "maxProperties": 64,
      "x-kubernetes-validations": [
       {
        "rule": "self.all(k, k.matches('^[A-Za-z0-9._:/-]{1,128}$'))",
        "message": "the name of an attribute is 1 to 128 letters, digits, dots, colons, slashes, underscores and hyphens"
       }
      ],
      "additionalProperties": {
       "type": "array",
       "maxItems": 32,
       "x-kubernetes-list-type": "atomic",
       "items": {
        "type": "string",
        "maxLength": 1024,
        "pattern": "^[^\\x00-\\x08\\x0b-\\x1f\\x7f]*$"
       }
      }
     },
     "subject": {
      "type": "string",
      "minLength": 1,
      "maxLength": 255,
      "pattern": "^[\\x21-\\x7e]+$"
     }
    }
   },
   "status": {
    "type": "object",
    "properties": {
     "observedGeneration": {
      "type": "integer",
      "format": "int64",
      "minimum": 0
     },
     "subject": {
      "type": "string",
      "maxLength": 255
     },
     "conditions": {
      "type": "array",
      "maxItems": 32,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": [
       "type"
      ],
      "items": {
       "type": "object",
       "required": [
        "type",
        "status",
        "reason",
        "message",
        "lastTransitionTime"
       ],
       "properties": {
        "type": {
         "type": "string",
         "maxLength": 316,
         "pattern": "^[A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?$"
        },
        "status": {
         "type": "string",
         "enum": [
          "True",
          "False",
          "Unknown"
         ]
        },
        "reason": {
         "type": "string",
         "minLength": 1,
         "maxLength": 1024,
         "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"
        },
        "message": {
         "type": "string",
         "maxLength": 32768
        },
        "observedGeneration": {
         "type": "integer",
         "format": "int64",
         "minimum": 0
        },
        "lastTransitionTime": {
         "type": "string",
         "format": "date-time",
         "maxLength": 64
        }
       }
      }
     }
    }
   }
  }
 }
}

export const roleAssignmentSchema: KindSchema = {
 "kind": "RoleAssignment",
 "plural": "roleassignments",
 "apiVersion": "realmkeeper.io/v1alpha1",
 "schema": {
  "type": "object",
  "required": [
   "spec"
  ],
  "properties": {
   "apiVersion": {
    "type": "string"
   },
   "kind": {
    "type": "string"
   },
   "metadata": {
    "type": "object"
   },
   "spec": {
    "type": "object",
    "required": [
     "realmRef",
     "subject",
     "roles",
     "requestedBy"
    ],
    "x-kubernetes-validations": [
     {
      "rule": "!(has(self.expiresAt) && has(self.durationSeconds))",
      "message": "either expiresAt or durationSeconds",
      "fieldPath": ".durationSeconds"
     }
    ],
    "properties": {
     "realmRef": {
      "type": "object",
      "required": [
       "name"
      ],
      "x-kubernetes-validations": [
       {
        "rule": "self == oldSelf",
        "message": "realmRef is immutable; delete the object and create it anew"
       }
      ],
      "properties": {
       "name": {
        "type": "string",
        "minLength": 1,
        "maxLength": 253,
        "pattern": "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"
       },
       "namespace": {
        "type": "string",
        "minLength": 1,
        "maxLength": 63,
        "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
       }
      }
     },
     "subject": {
      "type": "object",
      "required": [
       "kind",
       "name"
      ],
      "x-kubernetes-validations": [
       {
        "rule": "self == oldSelf",
        "message": "subject is immutable; delete the RoleAssignment and create another one"
       },
       {
        "rule": "self.kind != 'Group' || self.name.startsWith('default-roles-')",
        "message": "the only Group is default-roles-<realm>, every user of the realm",
        "fieldPath": ".name"
       }
      ],
      "properties": {
       "kind": {
        "type": "string",
        "enum": [
         "User",
         "Group"
        ]
       },
       "name": {
        "type": "string",
        "minLength": 1,
        "maxLength": 253,
        "pattern": "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"
       }
      }
     },
     "roles": {
      "type": "array",
      "minItems": 1,
      "maxItems": 64,
      "x-kubernetes-list-type": "set",
      "items": {
       "type": "string",
       "minLength": 1,
       "maxLength": 255,
       "pattern": "^[^\\x00-\\x20\\x7f]([^\\x00-\\x1f\\x7f]*[^\\x00-\\x20\\x7f])?$",
       "x-kubernetes-validations": [
        {
         "rule": "!self.startsWith('default-roles-')",
         "message": "default-roles-<realm> is no role that can be given; every user of the realm holds it"
        }
       ]
      }
     },
     "reason": {
      "type": "string",
      "maxLength": 1024,
      "pattern": "^[^\\x00-\\x08\\x0b-\\x1f\\x7f]*$"
     },
     "requestedBy": {
      "type": "string",
      "minLength": 1,
      "maxLength": 512,
      "pattern": "^[^\\x00-\\x1f\\x7f]*$"
     },
     "expiresAt": {
      "type": "string",
      "format": "date-time",
      "maxLength": 64
     },
     "durationSeconds": {
      "type": "integer",
      "format": "int32",
      "minimum": 1,
      "maximum": 315360000
     }
    }
   },
   "status": {
    "type": "object",
    "properties": {
     "observedGeneration": {
      "type": "integer",
      "format": "int64",
      "minimum": 0
     },
     "approvals": {
      "type": "array",
      "maxItems": 16,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": [
       "approver"
      ],
      "items": {
       "type": "object",
       "required": [
        "approver",
        "decision",
        "observedGeneration",
        "observedUID"
       ],
       "properties": {
        "approver": {
         "type": "string",
         "minLength": 1,
         "maxLength": 512,
         "pattern": "^[^\\x00-\\x1f\\x7f]*$"
        },
        "decision": {
         "type": "string",
         "enum": [
          "Approved",
          "Denied"
         ]
        },
        "observedGeneration": {
         "type": "integer",
         "format": "int64",
         "minimum": 1
        },
        "observedUID": {
         "type": "string",
         "minLength": 1,
         "maxLength": 64
        },
        "comment": {
         "type": "string",
         "maxLength": 1024,
         "pattern": "^[^\\x00-\\x08\\x0b-\\x1f\\x7f]*$"
        },
        "decidedAt": {
         "type": "string",
         "format": "date-time",
         "maxLength": 64
        }
       }
      }
     },
     "granted": {
      "type": "object",
      "required": [
       "generation"
      ],
      "properties": {
       "generation": {
        "type": "integer",
        "format": "int64",
        "minimum": 1
       },
       "realmUID": {
        "type": "string",
        "maxLength": 64
       },
       "subjectUID": {
        "type": "string",
        "maxLength": 64
       },
       "sub": {
        "type": "string",
        "maxLength": 255
       },
       "listedRoles": {
        "type": "array",
        "maxItems": 64,
        "x-kubernetes-list-type": "set",
        "items": {
         "type": "string",
         "maxLength": 255
        }
       },
       "roles": {
        "type": "array",
        "maxItems": 1024,
        "x-kubernetes-list-type": "set",
        "items": {
         "type": "string",
         "maxLength": 255
        }
       },
       "expiresAt": {
        "type": "string",
        "format": "date-time",
        "maxLength": 64
       },
       "durationSeconds": {
        "type": "integer",
        "format": "int32",
        "minimum": 1
       },
       "requiredApprovals": {
        "type": "integer",
        "format": "int32",
        "minimum": 1,
        "maximum": 16
       },
       "resolvedAt": {
        "type": "string",
        "format": "date-time",
        "maxLength": 64
       },
       "startsOver": {
        "type": "string",
        "enum": [
         "RealmReplaced",
         "SubjectReplaced",
         "DecisionUnproven"
        ]
       },
       "outcome": {
        "type": "string",
        "enum": [
         "Denied",
         "Ended",
         "TimedOut"
        ]
       },
       "uncounted": {
        "type": "array",
        "maxItems": 64,
        "x-kubernetes-list-type": "atomic",
        "items": {
         "type": "object",
         "required": [
          "approver",
          "generation",
          "reason"
         ],
         "properties": {
          "approver": {
           "type": "string",
           "maxLength": 512
          },
          "generation": {
           "type": "integer",
           "format": "int64",
           "minimum": 1
          },
          "reason": {
           "type": "string",
           "enum": [
            "DecidedTooEarly",
            "DecisionUnproven"
           ]
          }
         }
        }
       },
       "serving": {
        "type": "object",
        "required": [
         "generation",
         "realmUID",
         "roles",
         "grantedAt",
         "governed",
         "approvers"
        ],
        "properties": {
         "generation": {
          "type": "integer",
          "format": "int64",
          "minimum": 1
         },
         "realmUID": {
          "type": "string",
          "maxLength": 64
         },
         "subjectUID": {
          "type": "string",
          "maxLength": 64
         },
         "sub": {
          "type": "string",
          "maxLength": 255
         },
         "roles": {
          "type": "array",
          "maxItems": 1024,
          "x-kubernetes-list-type": "set",
          "items": {
           "type": "string",
           "maxLength": 255
          }
         },
         "grantedAt": {
          "type": "string",
          "format": "date-time",
          "maxLength": 64
         },
         "expiresAt": {
          "type": "string",
          "format": "date-time",
          "maxLength": 64
         },
         "governed": {
          "type": "boolean"
         },
         "approvers": {
          "type": "array",
          "maxItems": 32,
          "x-kubernetes-list-type": "set",
          "items": {
           "type": "string",
           "maxLength": 512
          }
         },
         "paused": {
          "type": "boolean"
         }
        }
       }
      }
     },
     "conditions": {
      "type": "array",
      "maxItems": 32,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": [
       "type"
      ],
      "items": {
       "type": "object",
       "required": [
        "type",
        "status",
        "reason"
       ],
       "properties": {
        "type": {
         "type": "string",
         "maxLength": 316,
         "pattern": "^[A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?$"
        },
        "status": {
         "type": "string",
         "enum": [
          "True",
          "False",
          "Unknown"
         ]
        },
        "reason": {
         "type": "string",
         "minLength": 1,
         "maxLength": 1024,
         "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"
        },
        "message": {
         "type": "string",
         "maxLength": 32768
        },
        "observedGeneration": {
         "type": "integer",
         "format": "int64",
         "minimum": 0
        },
        "lastTransitionTime": {
         "type": "string",
         "format": "date-time",
         "maxLength": 64
        },
        "decidedBy": {
         "type": "string",
         "minLength": 1,
         "maxLength": 512
        },
        "observedUID": {
         "type": "string",
         "minLength": 1,
         "maxLength": 64
        }
       }
      }
     }
    }
   }
  }
 }
}

/** By kind. */
export const SCHEMAS: ReadonlyMap<string, KindSchema> = new Map([
  ['Realm', realmSchema],
  ['Client', clientSchema],
  ['User', userSchema],
  ['RoleAssignment', roleAssignmentSchema],
])
