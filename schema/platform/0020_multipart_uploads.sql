-- Ends a multipart upload of the S3 protocol in the transaction that writes its object, or undoes that transaction if
-- it has ended already.
create function basalt.complete_multipart_upload(upload text) returns void
language plpgsql
as $$
begin
  delete from storage.s3_multipart_uploads where id = upload;
  if not found then
    raise exception 'Upload not found' using errcode = 'PT404';
  end if;
end
$$;
comment on function basalt.complete_multipart_upload(text) is 'Deletes a multipart upload and its parts; SQLSTATE PT404 if there is none';
revoke execute on function basalt.complete_multipart_upload(text) from public;
grant execute on function basalt.complete_multipart_upload(text) to service_role;
