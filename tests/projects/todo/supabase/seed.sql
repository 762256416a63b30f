insert into public.secrets_of_profiles (username, password_hash)
values ('keeper', crypt('open sesame', gen_salt('bf')));

insert into auth.users (
  instance_id, id, aud, role, email, encrypted_password, email_confirmed_at, raw_app_meta_data, raw_user_meta_data,
  created_at, updated_at, confirmation_token, email_change, email_change_token_new, recovery_token
) values (
  '00000000-0000-0000-0000-000000000000', '8d0fd2b3-9ca7-4d9e-a95f-9e13dded323e', 'authenticated', 'authenticated',
  'keeper@club.example', crypt('open sesame', gen_salt('bf')), now(), '{"provider":"email","providers":["email"]}',
  '{"username":"keeper"}', now(), now(), '', '', '', ''
);

insert into auth.identities (id, user_id, provider_id, identity_data, provider, created_at, updated_at)
values (
  uuid_generate_v4(), '8d0fd2b3-9ca7-4d9e-a95f-9e13dded323e', '8d0fd2b3-9ca7-4d9e-a95f-9e13dded323e',
  '{"sub":"8d0fd2b3-9ca7-4d9e-a95f-9e13dded323e","email":"keeper@club.example"}', 'email', now(), now()
);

insert into public.todos (owner, title, due, embedding) values
  ('8d0fd2b3-9ca7-4d9e-a95f-9e13dded323e', 'Train the keepers', '2025-01-20', '[1,0,0]'),
  ('8d0fd2b3-9ca7-4d9e-a95f-9e13dded323e', 'Order new gloves', null, '[0.9,0.1,0]'),
  ('8d0fd2b3-9ca7-4d9e-a95f-9e13dded323e', 'Paint the stand', null, '[0,0,1]');
