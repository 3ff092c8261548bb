import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

export const CHROMIUM_PATH = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium';

/** Returns a sentence that says what to do if there is no Chromium. */
export const missingChromium = (): string | undefined =>
  existsSync(CHROMIUM_PATH)
    ? undefined
    : `There is no Chromium at ${CHROMIUM_PATH}: run apt-get install chromium, or set CHROMIUM_PATH.`;

/** Starts Chromium with a new, empty profile and no traffic of its own. */
export const launchBrowser = (): Promise<Browser> =>
  chromium.launch({
    executablePath: CHROMIUM_PATH,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
