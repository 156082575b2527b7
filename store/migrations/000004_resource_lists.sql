-- The identity of the list that the rows of a kind were made from. A kind that was created again has another identity:
-- its empty list does not delete every row.
create table resource_lists (
  kind      text primary key,
  identity  text not null
);
