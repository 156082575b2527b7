-- Health of Realm, Client, User and RoleAssignment for Argo CD. docs/gitops/README.md lists its results.

-- A person must decide, or end a pause. Nothing is broken.
local waits = { PendingApproval = true, QuorumNotReached = true, Paused = true, RealmAdminNotAssigned = true }

-- Resolves itself, or when the named resource arrives: resources may be applied in any order.
local progresses = {
  Reconciling = true,
  Deleting = true,
  RealmNotFound = true,
  RoleNotFound = true,
  SecretNotFound = true,
  SubjectNotFound = true,
  ApprovalNotEnforced = true,
  NoEncryptionKey = true,
}

local function condition(type)
  if obj.status == nil or obj.status.conditions == nil then
    return nil
  end
  for _, each in ipairs(obj.status.conditions) do
    if each.type == type and each.observedGeneration == obj.metadata.generation then
      return each
    end
  end
  return nil
end

local function health(status, from)
  return { status = status, message = from.reason .. ": " .. (from.message or "") }
end

local function unready(from)
  if waits[from.reason] then
    return health("Suspended", from)
  end
  if from.status == "Unknown" or progresses[from.reason] then
    return health("Progressing", from)
  end
  return health("Degraded", from)
end

local ready = condition("Ready")
if ready == nil then
  return { status = "Progressing", message = "the operator has not reconciled this generation yet" }
end
if ready.status ~= "True" then
  return unready(ready)
end

-- A Realm is served without field encryption, but it is not healthy if it lists fields and encryption does not work.
local encryption = obj.kind == "Realm" and condition("FieldEncryptionReady") or nil
if encryption and encryption.status ~= "True" and encryption.reason ~= "NoFields" then
  return unready(encryption)
end
return health("Healthy", ready)
