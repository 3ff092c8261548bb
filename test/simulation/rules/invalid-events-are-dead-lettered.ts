import type { Rule } from './rule.ts';

/** Each message that is no event is dead-lettered with a reason, and nothing else is. No message crashes a function. */
export const invalidEventsAreDeadLettered: Rule = {
  name: 'invalid events are dead-lettered',
  violations({ scenario, deadLetters }) {
    const letters = deadLetters.get('Delivery-AlarmEvents-DeadLetters') ?? [];
    const invalid = scenario.steps.flatMap((step) => (step.kind === 'invalid' ? [step.body] : []));
    const expected = new Set(invalid);
    return [
      ...invalid
        .filter((body) => !letters.some((letter) => letter.body === body && letter.reason !== undefined))
        .map((body) => `An invalid event is not dead-lettered: ${body.slice(0, 100)}`),
      ...letters
        .filter(({ body }) => !expected.has(body) && !body.includes('"occupied"'))
        .map(({ body, reason }) => `An event is dead-lettered as ${reason}: ${body.slice(0, 300)}`),
    ];
  },
};
