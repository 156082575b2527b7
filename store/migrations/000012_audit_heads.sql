-- The last row of each audit chain that the operator has signed, in the order in which the chains were first signed.
create table audit_heads (
  position   bigint      not null,
  writer     text        not null,
  seq        bigint      not null,
  hash       bytea       not null,
  signed_at  timestamptz not null,
  constraint audit_heads_pkey primary key (position),
  constraint audit_heads_writer unique (writer)
);

-- One row at most: a JWS over the digest of all of audit_heads. The key, and the number and digest of the last
-- signature, are not in the database.
create table audit_signature (
  only_row boolean primary key default true check (only_row),
  jws      text    not null
);

-- The operator reads the rows of every writer: one writer must not fill its memory. Rows of before are not checked.
alter table audit add constraint audit_bounds
  check (octet_length(writer) <= 512 and octet_length(realm) <= 512 and octet_length(action) <= 512
         and octet_length(details) <= 1048576 and octet_length(hash) <= 64 and octet_length(previous_hash) <= 64) not valid;

-- A server appends to chains of servers only. The role of an operator can raise the epoch, the role of a server cannot.
-- The table is named by its oid, so that no temporary table takes its place.
create function refuse_foreign_chain() returns trigger language plpgsql as $$
begin
  raise exception 'this role may append to chains of servers only' using errcode = 'insufficient_privilege';
end
$$;
create trigger audit_chain_of_role before insert on audit for each row
  when (new.writer not like 'server/%' and not has_table_privilege('operator_epoch'::regclass, 'update'))
  execute function refuse_foreign_chain();

-- A login locks these rows in share mode, for which PostgreSQL demands the right to update a column. Servers get it for
-- this column, which is always null.
alter table realms add column login_lock boolean;
alter table clients add column login_lock boolean;
