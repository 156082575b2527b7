-- Not derived from resources: losing these rows ends sessions and deletes counted failures. Realm, client id and
-- subject are values, not foreign keys, so that sessions outlive rows of configuration that are deleted and rebuilt.

create table sessions (
  realm            text        not null,
  sid              uuid        not null,
  client_id        text        not null,
  subject          text        not null,
  requested_scope  text        not null,
  auth_time        timestamptz not null,
  expires_at       timestamptz not null,
  generation       integer     not null,
  refresh_kid      text        not null,
  rotated_at       timestamptz not null,
  idle_expires_at  timestamptz not null,
  ended_at         timestamptz,
  end_reason       text,
  constraint sessions_pkey primary key (realm, sid)
)
-- A rotation changes no indexed column: with room on the page it touches no index.
with (fillfactor = 70);
create index sessions_subject on sessions (realm, subject) where ended_at is null;
create index sessions_client on sessions (realm, client_id) where ended_at is null;
create index sessions_expires_at on sessions (expires_at);

-- Keyed by a digest of the normalised name: users sometimes type their password into the name field.
create table login_failures (
  realm            text        not null,
  username_digest  bytea       not null,
  failures         integer     not null,
  last_failure_at  timestamptz not null,
  locked_until     timestamptz,
  constraint login_failures_pkey primary key (realm, username_digest)
);
create index login_failures_last_failure_at on login_failures (last_failure_at);

-- A `sub` belongs permanently to one namespace and name of a User: its owner can decrypt the values encrypted for it.
create table subjects (
  realm      text        not null,
  subject    text        not null,
  namespace  text        not null,
  name       text        not null,
  first_seen timestamptz not null,
  constraint subjects_pkey primary key (realm, subject)
);

-- Every encryption key version that was recorded, so that a rolled back keyring is detected.
create table key_versions (
  realm        text        not null,
  version      bigint      not null,
  fingerprint  text        not null,
  state        text        not null,
  first_seen   timestamptz not null,
  accepted_loss_at timestamptz,
  constraint key_versions_pkey primary key (realm, version)
);

-- A live replica has beaten within 30 s and lists what its keyrings hold.
create table replicas (
  id            text        primary key,
  kind          text        not null,
  fingerprints  jsonb       not null,
  beat_at       timestamptz not null
);
