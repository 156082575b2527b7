-- Which list of a kind the rows were made from. A kind that was re-created has another identity: its empty list is no
-- deletion of everything.
create table resource_lists (
  kind      text primary key,
  identity  text not null
);
