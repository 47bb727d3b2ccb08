"""Connecting a real model in the app: both wire families, a server that refuses, one that is not there."""

from playwright.sync_api import expect

from .conftest import Opener
from .parts import PATIENCE, Halo, Models, Person


def opened(halo: Halo, person: Opener) -> Person:
    me = person(halo).arrives().signs_in().opens_the_sample()
    me.page.get_by_role("button", name="Connect a model").first.click()
    expect(me.page.get_by_role("dialog", name="Connect a model")).to_be_visible(timeout=PATIENCE)
    return me


def test_a_server_of_ones_own_is_tested_saved_and_answers(halo: Halo, models: Models, person: Opener):
    models.control({"defaults": {"text": "Greetings from the chat family"}})
    me = opened(halo, person)
    dialog = me.page.get_by_role("dialog", name="Connect a model")
    dialog.get_by_role("radio", name="My own server").click()
    dialog.get_by_label("Address", exact=True).fill(f"{models.address}/v1")
    dialog.get_by_label("Model", exact=True).fill("fake")
    dialog.get_by_role("button", name="Test").click()
    expect(dialog.get_by_text("First token of a test answer after")).to_be_visible(timeout=PATIENCE)
    dialog.get_by_role("button", name="Save and use").click()
    expect(dialog).to_be_hidden(timeout=PATIENCE)
    expect(me.page.get_by_text("This is the demo agent.")).to_have_count(0, timeout=PATIENCE)
    me.asks("Hello").sees("Greetings from the chat family")


def test_the_messages_family_answers_with_a_key(halo: Halo, models: Models, person: Opener):
    models.control({"defaults": {"text": "Greetings from the messages family"}})
    me = opened(halo, person)
    dialog = me.page.get_by_role("dialog", name="Connect a model")
    dialog.get_by_role("combobox", name="Provider").click()
    me.page.get_by_role("option", name="Anthropic").click()
    dialog.get_by_label("Key", exact=True).fill("a-key-for-the-fake")
    dialog.get_by_label("Model", exact=True).fill("fake")
    dialog.get_by_label("Address", exact=True).fill(models.address)
    dialog.get_by_role("button", name="Save and use").click()
    expect(dialog).to_be_hidden(timeout=PATIENCE)
    me.asks("Hello").sees("Greetings from the messages family")


def test_the_dialog_says_what_is_missing_and_what_went_wrong(halo: Halo, person: Opener):
    me = opened(halo, person)
    dialog = me.page.get_by_role("dialog", name="Connect a model")
    dialog.get_by_role("radio", name="My own server").click()
    dialog.get_by_label("Address", exact=True).fill("htp://models.example")
    dialog.get_by_role("button", name="Test").click()
    expect(dialog.get_by_text("Must begin with http:// or https://.")).to_be_visible()
    expect(dialog.get_by_text("Name a model.")).to_be_visible()

    dialog.get_by_label("Address", exact=True).fill("http://127.0.0.1:9/v1")  # nothing listens on the discard port
    dialog.get_by_label("Model", exact=True).fill("fake")
    dialog.get_by_role("button", name="Test").click()
    expect(dialog.locator(".connect-answer.bad")).to_be_visible(timeout=PATIENCE)


def test_a_cloud_account_signs_with_its_key_pair(halo: Halo, models: Models, person: Opener):
    models.control({"defaults": {"text": "Greetings from the cloud"}})
    me = opened(halo, person)
    dialog = me.page.get_by_role("dialog", name="Connect a model")
    dialog.get_by_role("radio", name="Cloud account").click()
    region = dialog.get_by_role("combobox", name="Region")
    region.fill("eu-central-1")
    address = dialog.get_by_role("combobox", name="Address")
    expect(address).to_have_value("https://bedrock-runtime.eu-central-1.amazonaws.com")
    address.fill(models.address)
    expect(region).to_be_disabled()
    dialog.get_by_label("AWS access key id").fill("AKIAFAKE")
    dialog.get_by_label("AWS secret access key").fill("sk-test-0123456789abcdef")
    dialog.get_by_role("button", name="Test").click()
    expect(dialog.get_by_text("First token of a test answer after")).to_be_visible(timeout=PATIENCE)
    dialog.get_by_role("button", name="Save and use").click()
    expect(dialog).to_be_hidden(timeout=PATIENCE)
    me.asks("Hello").sees("Greetings from the cloud")


def test_the_sandbox_network_is_switched_in_settings(halo: Halo, person: Opener):
    me = person(halo).arrives().signs_in().opens_the_sample()
    me.page.get_by_role("navigation", name="Activities").get_by_label("Settings").click()
    me.page.get_by_role("main").get_by_role("button", name="Sandbox").click()
    network = me.page.locator("[data-key='general.sandbox.network']")
    network.get_by_role("radio", name="none").click()
    expect(network.get_by_text("Saved")).to_be_visible(timeout=PATIENCE)
    me.page.reload()
    me.page.get_by_role("navigation", name="Activities").get_by_label("Settings").click()
    me.page.get_by_role("main").get_by_role("button", name="Sandbox").click()
    expect(network.get_by_role("radio", name="none")).to_be_checked(timeout=PATIENCE)
