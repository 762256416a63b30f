-- skip if: exists (select from basalt.platform_migrations where version = '0022' and adopted)

-- If somebody has dropped realtime.messages, the publication from which realtime reads broadcasts is still there, but empty
-- (0022_message_publication.sql). When this platform is repaired, the new table joins it.
do $$
begin
  if not exists (
    select from pg_catalog.pg_publication_rel r join pg_catalog.pg_publication p on p.oid = r.prpubid
     where p.pubname = 'supabase_realtime_messages_publication' and r.prrelid = 'realtime.messages'::regclass
  ) then
    alter publication supabase_realtime_messages_publication add table realtime.messages;
  end if;
end $$;
