insert into public.goods (id, name) values (2, 'chair');
