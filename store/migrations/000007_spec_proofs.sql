-- Whether the admission policies were in force when the spec of a RoleAssignment was written: one row for each object, for
-- the latest generation of which the operator knows. Not derived from resources: decisions count because of it. A row with
-- `proven = false` outlives its object, which a restored cluster may bring back.
create table spec_proofs (
  assignment_uid  text     primary key,
  generation      bigint   not null,
  digest          text     not null,
  proven          boolean  not null
);

-- The namespaces that the operator watched at the last proof; null: all. Objects elsewhere were not marked when a gap
-- ended, so a wider scope is a gap. An older version recorded no scope, so its record covers no namespace.
alter table approval_enforcement add column scope jsonb default '[]';

-- What an upgrade of policies is compared with: digests of the recorded objects that equal what the release shipped, and
-- whether uids and generations alone show all that the present gap consists of.
alter table approval_enforcement add column shipped jsonb not null default '{}';
alter table approval_enforcement add column gap_revealed boolean not null default false;
