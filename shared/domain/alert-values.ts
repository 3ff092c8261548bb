import type { AlarmState } from '../contracts/alarm-event.ts';
import type { AlertName } from '../contracts/body-template.ts';
import { factLines, subjectLine, truncateUnits } from './alert-text.ts';
import type { Alert } from './transport.ts';

/** Maximum length of `alert.title` in UTF-16 units: that of a Slack header. */
export const MAX_TITLE_LENGTH = 150;

/** Maximum length of `alert.text` in UTF-16 units: fits into a Discord message, which has the lowest limit, 2,000. */
export const MAX_TEXT_LENGTH = 1_900;

/** How receivers show a state: a color of HTML, a style of Adaptive Cards, and an emoji. */
const appearances: Record<AlarmState, { color: string; style: string; emoji: string }> = {
  OK: { color: '#2e7d32', style: 'good', emoji: '✅' },
  WARNING: { color: '#f9a825', style: 'warning', emoji: '⚠️' },
  CRITICAL: { color: '#d32f2f', style: 'attention', emoji: '🚨' },
};

/** Returns the values that placeholders name with `alert.` (docs/api.md#placeholders). */
export const alertValues = ({
  event,
  eventTimeMs,
}: Pick<Alert, 'event' | 'eventTimeMs'>): Readonly<Record<AlertName, string | number>> => {
  const { state } = event;
  return {
    ...appearances[state],
    title: truncateUnits(subjectLine(event), MAX_TITLE_LENGTH),
    text: truncateUnits(factLines(event.facts), MAX_TEXT_LENGTH),
    state,
    status: state === 'OK' ? 'resolved' : 'firing',
    color_number: Number.parseInt(appearances[state].color.slice(1), 16),
    time: new Date(eventTimeMs).toISOString().replace(/\.\d+Z$/, 'Z'),
    incident_key: event.incident_key,
  };
};
