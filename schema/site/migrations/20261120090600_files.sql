-- Files of the site's public buckets: everybody reads them by their public address, admins manage them through the API.

create policy "Admins manage the site's files" on storage.objects
  for all to authenticated
  using (bucket_id in ('app', 'experts', 'blog-images', 'other') and (select private.has_role('admin')))
  with check (bucket_id in ('app', 'experts', 'blog-images', 'other') and (select private.has_role('admin')));
