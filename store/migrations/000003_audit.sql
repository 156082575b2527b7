-- Decisions as the operator recorded them. They outlive the status of the resource and the rows of configuration.
create table decisions (
  assignment_uid  text        not null,
  generation      bigint      not null,
  approver_key    text        not null,
  realm           text        not null,
  namespace       text        not null,
  name            text        not null,
  approver        text        not null,
  decision        text        not null,
  form            text        not null,
  recorded_at     timestamptz not null,
  constraint decisions_pkey primary key (assignment_uid, generation, approver_key)
);

-- Append-only: one hash chain for each writer. `details` is the exact text that was hashed.
create table audit (
  writer         text        not null,
  seq            bigint      not null,
  at             timestamptz not null,
  action         text        not null,
  realm          text        not null,
  details        text        not null,
  previous_hash  bytea       not null,
  hash           bytea       not null,
  constraint audit_pkey primary key (writer, seq)
);
create index audit_realm_at on audit (realm, at);

create function refuse_audit_change() returns trigger language plpgsql as $$
begin
  raise exception 'audit rows are append-only' using errcode = 'restrict_violation';
end
$$;

create trigger audit_append_only before update or delete on audit
  for each row execute function refuse_audit_change();
create trigger audit_no_truncate before truncate on audit
  for each statement execute function refuse_audit_change();
