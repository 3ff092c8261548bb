import { missingChromium } from './browser.ts';

/** The global setup of vitest: ends the run with one sentence if there is no Chromium. */
export default function requireChromium(): void {
  const problem = missingChromium();
  if (problem === undefined) return;
  process.stderr.write(`${problem}\n`);
  process.exit(1);
}
