-- A statement that ends a million sessions, or deletes a hundred thousand users, exceeds every timeout. So the
-- transaction that removes a client, a user or a realm ends a bounded number, and leaves a row here for the others.

-- All sessions of a target that began before the end with this number have ended, also those whose row does not say so.
-- Not derived from resources. A row is deleted when no session is left that it ends.
create table session_ends (
  realm   text        not null,
  -- 'realm', 'client <client id>' or 'subject <sub>'
  target  text        not null,
  id      bigint      not null,
  reason  text        not null,
  at      timestamptz not null,
  -- sessions deleted so far
  deleted bigint      not null default 0,
  constraint session_ends_pkey primary key (realm, target)
);

-- Numbers order ends and logins without comparing the clocks of two processes.
create table session_end_counter (
  only_row boolean primary key default true check (only_row),
  last_id  bigint  not null
);
insert into session_end_counter (last_id) values (0);

-- The number of the last end when the session began. A former server writes 0: the sessions that it starts end with
-- every target that is being worked off.
alter table sessions add column ends_seen bigint not null default 0;

-- Realms whose row is gone while rows under them remain. Their name is free when those are deleted.
create table realm_removals (
  realm       text        not null,
  started_at  timestamptz not null,
  constraint realm_removals_pkey primary key (realm)
);
