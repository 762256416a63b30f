alter table public.goods add column owner uuid references auth.users;
create function public.on_user() returns trigger language plpgsql security definer set search_path = ''
  as $$ begin return new; end $$;
create trigger on_user after insert on auth.users for each row execute function public.on_user();
