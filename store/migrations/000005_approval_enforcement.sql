-- Which admission policies were last proven to hold approvers to the rules. One row at most, and not derived: decisions
-- are believed because of it. While `gap_since` is set they were found missing, changed or not acting since then.
create table approval_enforcement (
  one             boolean     primary key default true check (one),
  identities      jsonb       not null,
  gap_since       timestamptz,
  statuses_agree  boolean     not null
);
