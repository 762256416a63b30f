"""Amazon's Python client against the S3 protocol of the server that SUPABASE_URL names."""

import os
import unittest
import uuid

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

ENDPOINT = os.environ["SUPABASE_URL"] + "/storage/v1/s3"
KEY_ID = os.environ.get("S3_PROTOCOL_ACCESS_KEY_ID")


def connect():
    """A client with the project's access key."""
    return boto3.client(
        "s3",
        endpoint_url=ENDPOINT,
        region_name=os.environ["S3_PROTOCOL_REGION"],
        aws_access_key_id=KEY_ID,
        aws_secret_access_key=os.environ["S3_PROTOCOL_ACCESS_KEY_SECRET"],
        config=Config(s3={"addressing_style": "path"}, retries={"max_attempts": 0}),
    )


@unittest.skipUnless(KEY_ID, "nobody has named the keys of the S3 protocol")
class S3(unittest.TestCase):
    def setUp(self):
        self.s3, self.bucket = connect(), f"boto-{uuid.uuid4()}"
        self.s3.create_bucket(Bucket=self.bucket)

    def tearDown(self):
        for upload in self.s3.list_multipart_uploads(Bucket=self.bucket).get("Uploads", []):
            self.s3.abort_multipart_upload(
                Bucket=self.bucket, Key=upload["Key"], UploadId=upload["UploadId"]
            )
        pages = self.s3.get_paginator("list_object_versions").paginate(Bucket=self.bucket)
        for page in pages:
            versions = [{"Key": v["Key"], "VersionId": v["VersionId"]} for v in page.get("Versions", [])]
            if versions:
                removed = self.s3.delete_objects(Bucket=self.bucket, Delete={"Objects": versions})
                self.assertNotIn("Errors", removed)
        self.s3.delete_bucket(Bucket=self.bucket)

    def put(self, key, body=b"0123456789"):
        return self.s3.put_object(Bucket=self.bucket, Key=key, Body=body)

    def refused(self, code, status, call, **arguments):
        with self.assertRaises(ClientError) as caught:
            call(**{"Bucket": self.bucket, **arguments})
        error = caught.exception.response
        self.assertEqual(error["Error"]["Code"], code)
        self.assertEqual(error["ResponseMetadata"]["HTTPStatusCode"], status)
        return error["Error"]["Message"]

    def test_errors_are_read(self):
        with self.assertRaises(self.s3.exceptions.NoSuchKey):
            self.s3.get_object(Bucket=self.bucket, Key="none")
        with self.assertRaises(self.s3.exceptions.NoSuchBucket):
            self.s3.list_objects_v2(Bucket="nowhere")
        self.put("a")
        self.refused("ResourceNotEmpty", 409, self.s3.delete_bucket)
        self.refused("BucketAlreadyExists", 409, self.s3.create_bucket)
        self.refused("NotImplemented", 501, self.s3.get_bucket_acl)
        self.refused("InvalidRange", 416, self.s3.get_object, Key="a", Range="bytes=90-")
        upload = {"Key": "a", "UploadId": "none"}
        self.refused("NoSuchUpload", 404, self.s3.list_parts, **upload)
        self.refused("NoSuchUpload", 404, self.s3.abort_multipart_upload, **upload)
        self.refused("NoSuchUpload", 404, self.s3.upload_part, PartNumber=1, Body=b"a", **upload)
        parts = {"Parts": [{"PartNumber": 1, "ETag": '"a"'}]}
        self.refused(
            "NoSuchUpload", 404, self.s3.complete_multipart_upload, MultipartUpload=parts, **upload
        )
        source = f"{self.bucket}/none"
        self.refused("NoSuchKey", 404, self.s3.copy_object, Key="b", CopySource=source)
        self.refused("404", 404, self.s3.head_object, Key="none")

    def test_ranges(self):
        self.put("a")

        def read(asked, **more):
            return self.s3.get_object(Bucket=self.bucket, Key="a", Range=asked, **more)["Body"].read()

        self.assertEqual(read("bytes=2-4"), b"234")
        for ignored in ["items=0-1", "bytes=x", "bytes=0-1,3-4"]:
            self.assertEqual(read(ignored), b"0123456789")
        upload = self.s3.create_multipart_upload(Bucket=self.bucket, Key="b")["UploadId"]
        source = {"Key": "b", "UploadId": upload, "PartNumber": 1, "CopySource": f"{self.bucket}/a"}
        for wrong in ["bytes=-5", "bytes=5-90"]:
            self.refused(
                "InvalidArgument", 400, self.s3.upload_part_copy, CopySourceRange=wrong, **source
            )
        message = self.refused("ResourceReferenced", 409, self._empty_and_delete)
        self.assertIn('pending multipart upload ("b")', message)

    def _empty_and_delete(self, **bucket):
        self.s3.delete_object(Key="a", **bucket)
        self.s3.delete_bucket(**bucket)

    def test_versions_are_listed_in_pages(self):
        keys = ["a", "b c+d", "dir/e", "dir/f"]
        for key in keys:
            self.put(key)
        paginator = self.s3.get_paginator("list_object_versions")
        pages = paginator.paginate(Bucket=self.bucket, PaginationConfig={"PageSize": 1})
        versions = [version for page in pages for version in page["Versions"]]
        self.assertEqual([version["Key"] for version in versions], keys)
        self.assertEqual({version["VersionId"] for version in versions}, {"null"})
        self.assertTrue(all(version["IsLatest"] for version in versions))
        folders = self.s3.list_object_versions(Bucket=self.bucket, Delimiter="/")
        self.assertEqual(folders["CommonPrefixes"], [{"Prefix": "dir/"}])
        removed = self.s3.delete_object(Bucket=self.bucket, Key="a", VersionId="null")
        self.assertEqual(removed["ResponseMetadata"]["HTTPStatusCode"], 204)

    def test_the_coding_of_an_object(self):
        self.s3.put_object(Bucket=self.bucket, Key="a", Body=b"text", ContentEncoding="gzip")
        self.assertEqual(self.s3.head_object(Bucket=self.bucket, Key="a")["ContentEncoding"], "gzip")
