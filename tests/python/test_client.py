"""Supabase's Python client against the server that SUPABASE_URL, SUPABASE_ANON_KEY and SUPABASE_SERVICE_ROLE_KEY name."""

import asyncio
import os
import unittest
import uuid

from postgrest.exceptions import APIError
from supabase import AuthApiError, acreate_client, create_client

URL = os.environ["SUPABASE_URL"]
ANON_KEY = os.environ["SUPABASE_ANON_KEY"]
SERVICE_KEY = os.environ["SUPABASE_SERVICE_ROLE_KEY"]
PASSWORD = "correct horse battery staple"


def visitor():
    """A client of somebody who is not signed in."""
    return create_client(URL, ANON_KEY)


def service():
    """A client of a trusted server."""
    return create_client(URL, SERVICE_KEY)


def new_address():
    """An address that nobody has."""
    return f"fan-{uuid.uuid4()}@club.example"


class Rest(unittest.TestCase):
    def test_a_list_is_filtered_ordered_and_counted(self):
        query = visitor().table("faqs").select("question, order_index", count="exact")
        response = query.contains("labels", ["Data"]).order("order_index").limit(3).execute()
        order = [row["order_index"] for row in response.data]
        self.assertEqual(len(order), 3)
        self.assertEqual(order, sorted(order))
        self.assertGreaterEqual(response.count, 3)

    def test_an_embed_comes_with_its_row(self):
        query = visitor().table("testimonial_page_orders").select("order_index, testimonials!inner(name)")
        response = query.eq("page_name", "home").limit(1).execute()
        self.assertTrue(response.data[0]["testimonials"]["name"])

    def test_rows_are_written_changed_and_deleted(self):
        client, first, second = service(), new_address(), new_address()
        name = "newsletter_subscriptions"
        made = client.table(name).insert({"email": first, "consent_given": True}).execute()
        self.assertEqual(made.data[0]["email"], first)
        changed = client.table(name).update({"email": second}).eq("email", first).execute()
        self.assertEqual(changed.data[0]["email"], second)
        gone = client.table(name).delete().eq("email", second).execute()
        self.assertEqual(len(gone.data), 1)
        self.assertEqual(client.table(name).select("email").eq("email", second).execute().data, [])

    def test_one_row_or_none(self):
        one = visitor().table("settings").select("value").eq("key", "site_name").single().execute()
        self.assertTrue(one.data["value"])
        none = visitor().table("settings").select("value").eq("key", "no_such_key").maybe_single().execute()
        self.assertIsNone(none)

    def test_a_refusal_has_the_servers_code(self):
        with self.assertRaises(APIError) as refused:
            visitor().table("faq").select("*").execute()
        self.assertEqual(refused.exception.code, "PGRST205")

    def test_a_function_is_called(self):
        response = visitor().rpc("search_site", {"question": "data"}).execute()
        self.assertIsInstance(response.data, list)


class Auth(unittest.TestCase):
    def setUp(self):
        self.admin = service().auth.admin
        self.email = new_address()
        made = self.admin.create_user({"email": self.email, "password": PASSWORD, "email_confirm": True})
        self.user_id = made.user.id

    def tearDown(self):
        self.admin.delete_user(self.user_id)

    def test_a_session_is_begun_refreshed_and_ended(self):
        client = visitor()
        begun = client.auth.sign_in_with_password({"email": self.email, "password": PASSWORD})
        self.assertEqual(begun.user.email, self.email)
        self.assertEqual(client.auth.get_user().user.id, self.user_id)
        fresh = client.auth.refresh_session()
        self.assertNotEqual(fresh.session.refresh_token, begun.session.refresh_token)
        changed = client.auth.update_user({"data": {"club": "Terrace"}})
        self.assertEqual(changed.user.user_metadata["club"], "Terrace")
        client.auth.sign_out()
        self.assertIsNone(client.auth.get_session())

    def test_a_wrong_password_is_refused_by_its_code(self):
        with self.assertRaises(AuthApiError) as refused:
            visitor().auth.sign_in_with_password({"email": self.email, "password": "wrong"})
        self.assertEqual(refused.exception.status, 400)
        self.assertEqual(refused.exception.code, "invalid_credentials")

    def test_administrators_find_and_change_users(self):
        found = self.admin.get_user_by_id(self.user_id)
        self.assertEqual(found.user.email, self.email)
        changed = self.admin.update_user_by_id(self.user_id, {"app_metadata": {"plan": "season"}})
        self.assertEqual(changed.user.app_metadata["plan"], "season")
        self.assertTrue(self.admin.list_users())


class Storage(unittest.TestCase):
    def test_a_public_file_is_read(self):
        self.assertIn(b"<svg", visitor().storage.from_("app").download("favicon.svg"))


class Functions(unittest.TestCase):
    def test_a_function_responds(self):
        response = visitor().functions.invoke("echo", {"body": {"club": "Terrace"}})
        self.assertIn(b"Terrace", response)


class Concurrently(unittest.TestCase):
    def test_the_asynchronous_client_asks_many_things_at_once(self):
        async def ask():
            client = await acreate_client(URL, ANON_KEY)
            queries = [client.table("faqs").select("id").limit(1).execute() for _ in range(20)]
            return await asyncio.gather(*queries)

        self.assertTrue(all(len(response.data) == 1 for response in asyncio.run(ask())))


if __name__ == "__main__":
    unittest.main()
