-- Rows of configuration: derived from resources, and rebuilt from them when lost. A realm is known by its name, which
-- is immutable, so that rows rebuilt from the cluster fit the sessions and ciphertexts that were there before.

create table realms (
  realm              text        not null,
  resource_uid       text        not null,
  namespace          text        not null,
  name               text        not null,
  generation         bigint      not null,
  enabled            boolean     not null,
  display_name       text,
  tokens             jsonb       not null,
  brute_force        jsonb       not null,
  password_hashing   jsonb       not null,
  roles              jsonb       not null,
  fields             jsonb       not null,
  encryption         jsonb       not null,
  keyring_namespace  text        not null,
  keyring_name       text        not null,
  constraint realms_pkey primary key (realm),
  constraint realms_resource_uid unique (resource_uid)
);

create table clients (
  realm                 text        not null,
  client_id             text        not null,
  resource_uid          text        not null,
  namespace             text        not null,
  name                  text        not null,
  generation            bigint      not null,
  enabled               boolean     not null,
  type                  text        not null,
  secret_source         text,
  secret_salt           bytea,
  secret_hash           bytea,
  previous_secret_salt  bytea,
  previous_secret_hash  bytea,
  previous_valid_until  timestamptz,
  settings              jsonb       not null,
  constraint clients_pkey primary key (realm, client_id),
  constraint clients_resource_uid unique (resource_uid)
);

create table users (
  realm            text    not null,
  subject          text    not null,
  resource_uid     text    not null,
  namespace        text    not null,
  name             text    not null,
  generation       bigint  not null,
  username         text    not null,
  username_key     text    not null,
  email            text,
  email_verified   boolean not null,
  first_name       text,
  last_name        text,
  enabled          boolean not null,
  attributes       jsonb   not null,
  subject_pinned   boolean not null,
  password_hash    text,
  password_source  text,
  constraint users_pkey primary key (realm, subject),
  constraint users_username unique (realm, username_key),
  constraint users_resource_uid unique (realm, resource_uid)
);

-- A deleted resource is found by its uid alone: its realm may have been deleted before it.
create index users_by_uid on users (resource_uid);

-- The operator's copy of what an assignment grants. The status is the other copy: one survives the loss of the other.
create table role_assignments (
  realm         text   not null,
  resource_uid  text   not null,
  namespace     text   not null,
  name          text   not null,
  generation    bigint not null,
  granted       jsonb,
  constraint role_assignments_pkey primary key (realm, resource_uid)
);
create index role_assignments_by_uid on role_assignments (resource_uid);

-- Roles as they are granted now: expanded over composites, one row for each assignment that gives a role.
-- The subject of kind Group is the name `default-roles-<realm>`.
create table granted_roles (
  realm           text not null,
  subject_kind    text not null,
  subject         text not null,
  role            text not null,
  assignment_uid  text not null,
  expires_at      timestamptz,
  constraint granted_roles_pkey primary key (realm, subject_kind, subject, role, assignment_uid)
);
create index granted_roles_by_assignment on granted_roles (assignment_uid);

-- One row, locked by the transaction that writes a change until it commits: numbers become visible in their order, so
-- a reader that asks for "more than n" misses none.
create table change_counter (
  only_row boolean primary key default true check (only_row),
  last_id  bigint  not null
);
insert into change_counter (last_id) values (0);

create table changes (
  id     bigint      primary key,
  realm  text        not null,
  kind   text        not null,
  key    text        not null,
  at     timestamptz not null
);

-- The leader's epoch. A transaction with a former epoch is refused.
create table operator_epoch (
  only_row boolean primary key default true check (only_row),
  epoch    bigint  not null,
  holder   text    not null
);
insert into operator_epoch (epoch, holder) values (0, '');
