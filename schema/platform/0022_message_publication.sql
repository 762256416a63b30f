-- skip if: exists (select from pg_publication where pubname = 'supabase_realtime_messages_publication')

-- What the realtime service reads broadcasts of the database from. Inserts alone: what is deleted was sent long ago.
create publication supabase_realtime_messages_publication for table realtime.messages
  with (publish = 'insert', publish_via_partition_root = true);
