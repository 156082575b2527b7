-- The keyring of a realm as the operator last accepted it. It stays when the Realm is deleted and its keys are kept.
create table keyring_records (
  realm           text    not null,
  owner_namespace text    not null,
  owner_name      text    not null,
  is_external     boolean not null,
  constraint keyring_records_pkey primary key (realm)
);

-- Keys that the operator generated or that the owner of the realm accepted, by kid or fingerprint. No other key is used.
-- A generated key is `announced` before it is stored. key_versions holds the states of encryption keys.
create table recorded_keys (
  realm            text        not null,
  kind             text        not null,
  name             text        not null,
  state            text        not null,
  recorded_at      timestamptz not null,
  accepted_loss_at timestamptz,
  constraint recorded_keys_pkey primary key (realm, kind, name)
);
