-- skip if: exists (select from basalt.platform_migrations where version in ('0007', '0022') and adopted)

-- If somebody has dropped schema realtime, the publication from which realtime reads broadcasts is still there, but empty
-- (0022_message_publication.sql). When the schema is created again, the new table joins it, and gets its partitions.
do $$
begin
  if not exists (
    select from pg_catalog.pg_publication_rel r join pg_catalog.pg_publication p on p.oid = r.prpubid
     where p.pubname = 'supabase_realtime_messages_publication' and r.prrelid = 'realtime.messages'::regclass
  ) then
    alter publication supabase_realtime_messages_publication add table realtime.messages;
  end if;
  perform basalt.keep_message_partitions();
end $$;
