-- An operator may watch some namespaces only. A kind that was created again while a namespace was not watched left the
-- rows of that namespace as they were, so the identity is recorded for each namespace. An empty namespace stands for
-- every namespace without a row of its own.
alter table resource_lists add column namespace text not null default '';
alter table resource_lists drop constraint resource_lists_pkey;
alter table resource_lists add constraint resource_lists_pkey primary key (kind, namespace);
