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
