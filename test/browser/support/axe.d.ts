import type { run } from 'axe-core';

declare global {
  interface Window {
    /** Present after `axe.source` was evaluated in the page. */
    axe: { run: typeof run };
  }
}
