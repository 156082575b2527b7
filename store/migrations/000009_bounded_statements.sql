-- Sessions of an owner in the order of their ids, so that a batch of a deletion begins where the one before ended. The
-- former indexes led each batch over the rows that all batches before it had deleted.
create index sessions_by_subject on sessions (realm, subject, sid) where ended_at is null;
create index sessions_by_client on sessions (realm, client_id, sid) where ended_at is null;
drop index sessions_subject;
drop index sessions_client;

-- The last session that a batch deleted; null before the first one.
alter table session_ends add column after_sid uuid;

-- Read at each reconcile of a Realm. Few grants are of this role.
create index granted_roles_realm_admin on granted_roles (realm, expires_at) where role = 'svc-realm-admin';

-- The audit is listed by time, page by page.
create index audit_by_time on audit (at, writer, seq);
