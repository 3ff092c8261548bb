import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Sink, startSink } from '../support/sink.ts';
import { launchBrowser } from './support/browser.ts';
import { openPage, rows, startInbox, type TestInbox } from './support/open-inbox.ts';

let browser: Browser;
let inbox: TestInbox;
let attacker: Sink;
let page: Page;
beforeAll(async () => {
  [browser, inbox, attacker] = await Promise.all([launchBrowser(), startInbox(), startSink(respond)]);
});
afterAll(async () => {
  attacker.close();
  await Promise.all([browser.close(), inbox.close()]);
});
beforeEach(async () => {
  await inbox.clear();
  page = await openPage(browser, inbox.url);
});
afterEach(() => page.context().close());

/** HTML that loads, runs, submits, and navigates by every means that needs no click. */
const hostileHtml = (): string => `
  <script>document.title = 'hacked'; fetch('${attacker.url}/script'); top.hacked = true;</script>
  <script src="${attacker.url}/script.js"></script>
  <img src="${attacker.url}/pixel.gif" onerror="fetch('${attacker.url}/onerror'); top.hacked = true">
  <svg onload="fetch('${attacker.url}/svg')"><image href="${attacker.url}/image"/></svg>
  <link rel="stylesheet" href="${attacker.url}/style.css">
  <style>@import url('${attacker.url}/import.css'); body { background: url('${attacker.url}/background') }</style>
  <iframe src="${attacker.url}/frame"></iframe><object data="${attacker.url}/object"></object>
  <video src="${attacker.url}/video" autoplay></video>
  <base href="${attacker.url}/"><meta http-equiv="refresh" content="0;url=${attacker.url}/refresh">
  <form action="${attacker.url}/form"><button>Submit</button></form>
  <a href="${attacker.url}/link" target="_top">Link</a>
  <p>The end of the email</p>`;

/** The paths that were requested from the attacker. Chromium asks for the icon of a page at any time. */
const attacked = () => attacker.received.map(({ path }) => path).filter((path) => path !== '/favicon.ico');

const respond: Parameters<typeof startSink>[0] = (response, { path }) =>
  response.setHeader('content-type', 'text/html').end(path === '/hostile-page' ? hostileHtml() : '');

describe('the inbox page and untrusted content', () => {
  it('neither runs a script of an email nor loads anything for it', async () => {
    inbox.add({ kind: 'email', from: 'a', to: ['b'], subject: 'Hostile', text: '', html: hostileHtml() });
    // A negative control: in a page without protection, the same HTML reaches the attacker.
    const unprotected = await page.context().newPage();
    await unprotected.goto(`${attacker.url}/hostile-page`);
    await unprotected.waitForURL(`${attacker.url}/refresh`);
    expect(attacked()).toEqual(expect.arrayContaining(['/script.js', '/pixel.gif', '/style.css', '/frame']));
    const before = attacked().length;

    await rows(page).first().click();
    const frame = page.frameLocator('iframe');
    await frame.getByText('The end of the email').waitFor();
    await frame.getByRole('button', { name: 'Submit' }).click();
    await frame.getByRole('link', { name: 'Link' }).click();
    // What the frame could start without a click is started by now: a later email is shown after it.
    inbox.add({ kind: 'email', from: 'a', to: ['b'], subject: 'Harmless', text: '', html: '<p>Harmless</p>' });
    await rows(page).filter({ hasText: 'Harmless' }).click();
    await frame.getByText('Harmless').waitFor();
    expect(attacked().slice(before)).toEqual([]);
    expect(page.url()).toMatch(new RegExp(`^${inbox.url}/`));
    expect(await page.title()).toBe('Inbox (2)');
    expect(await page.evaluate(() => 'hacked' in window)).toBe(false);
    expect(page.context().pages()).toEqual([page, unprotected]);
  });

  it('shows markup in every field as text', async () => {
    const payload = `<img src="${attacker.url}/x" onerror="window.hacked = true"><script>window.hacked = true</script>`;
    const before = attacked().length;
    inbox.add({ kind: 'email', from: payload, to: [payload], subject: payload, text: payload, html: '' });
    inbox.add({ kind: 'sms', to: payload, text: payload, attributes: { [payload]: payload } });
    inbox.add({ kind: 'managed', topic: payload, subject: payload, text: payload });
    const body = JSON.stringify({ [payload]: payload });
    await inbox.send('/pager', { method: 'POST', headers: { 'content-type': payload }, body });
    await inbox.send('/feed', { method: 'POST', body: `<a title='${payload.replaceAll("'", '')}'>${payload}</a>` });
    await inbox.send('/webhooks/acme', {
      method: 'POST',
      headers: { 'x-payload': payload, 'webhook-signature': payload },
      body,
    });
    const tenant = encodeURIComponent('<b>acme</b>');
    await inbox.send(`/webhooks/${tenant}`, { method: 'PUT', body: '{"respond":"410"}' });
    await expect.poll(() => rows(page).count()).toBe(6);
    // The page shows the previous message until the next one has arrived.
    for (const [index, kind] of ['webhook', 'atomfeed', 'incidentpager', 'managed', 'sms', 'email'].entries()) {
      await rows(page).nth(index).click();
      const article = page.getByRole('article');
      await article.locator(`.kind.${kind}`).waitFor();
      for (const tab of await article.getByRole('tab').all()) await tab.click();
    }
    await page.getByRole('button', { name: 'Webhooks' }).click();
    await page.getByText('<b>acme</b>', { exact: true }).waitFor();
    expect(await page.locator('img, #app script, #app b').count()).toBe(0);
    expect(await page.evaluate(() => 'hacked' in window)).toBe(false);
    expect(attacked().slice(before)).toEqual([]);
  });
});
