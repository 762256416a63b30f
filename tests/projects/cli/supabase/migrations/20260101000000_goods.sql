create table public.goods (id int primary key, name text not null);
alter table public.goods enable row level security;
grant select, insert, update on public.goods to service_role;
