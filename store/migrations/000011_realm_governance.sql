-- The strongest governance that a realm name had, and the Realm that had it. Not derived from resources: it stays when
-- the Realm is deleted, so that another Realm of that name cannot have less. `enforced_since` is null unless that Realm
-- was read with this governance while the admission policies were in force; from then on they checked every edit.
create table realm_governance (
  realm           text        primary key,
  namespace       text        not null,
  name            text        not null,
  resource_uid    text        not null,
  generation      bigint      not null,
  governance      jsonb       not null,
  enforced_since  timestamptz
);

-- Confirmations that were on Realms when a gap in the enforcement ended: who wrote them is unknown. They never count.
create table unproven_confirmations (
  confirmation  text  primary key
);

-- The end of the last gap. For earlier records, the time of this migration: the gap ended before it.
alter table approval_enforcement add column enforced_since timestamptz;
update approval_enforcement set enforced_since = now() where gap_since is null;
