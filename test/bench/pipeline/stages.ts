import { percentile } from '../../support/percentile.ts';
import type { Section } from '../support/report.ts';
import type { Journey } from './latency.ts';
import type { Step } from './traced-stack.ts';

/** The points that each event passes, in order: when a call or an invocation starts or ends. */
const POINTS = [
  { stage: 'producer: until SQS has the message', matches: /^(?!local-).* SendMessageBatch$/, edge: 'startMs' },
  { stage: 'SQS: until dispatch is invoked', matches: /^invoke .*dispatch-alarm-events$/, edge: 'startMs' },
  {
    stage: 'dispatch: until SQS has the delivery (one read)',
    matches: /^local-.*dispatch-alarm-events SendMessageBatch$/,
    edge: 'startMs',
  },
  { stage: 'SQS: until the sender is invoked', matches: /^invoke .*send-webhook$/, edge: 'startMs' },
  {
    stage: 'sender: until DynamoDB has the claim (one read)',
    matches: /^local-.*send-webhook PutItem$/,
    edge: 'startMs',
  },
  { stage: 'DynamoDB: the claim', matches: /^local-.*send-webhook PutItem$/, edge: 'endMs' },
] as const;

/** Returns the ms that each stage of one event took, the last one until the webhook arrived. */
const stagesOf = ({ name, sentAtMs, arrivedAtMs }: Journey, steps: readonly Step[]): number[] => {
  const times = POINTS.map(({ stage, matches, edge }) => {
    const step = steps.find((candidate) => matches.test(candidate.name));
    if (!step) throw new Error(`${name} has no stage "${stage}".`);
    return step[edge];
  });
  return [...times, arrivedAtMs].map((atMs, index) => atMs - ([sentAtMs, ...times][index] ?? Number.NaN));
};

/** Returns how long each stage took, over all events of a run with a traced stack. */
export const stageSection = (journeys: readonly Journey[], steps: readonly Step[]): Section => {
  const byEvent = Map.groupBy(
    steps.flatMap((step) => step.eventIds.map((id) => ({ id, step }))),
    ({ id }) => id,
  );
  const stages = journeys.map((journey) =>
    stagesOf(
      journey,
      (byEvent.get(journey.name) ?? []).map(({ step }) => step),
    ),
  );
  const totals = journeys.map(({ sentAtMs, arrivedAtMs }) => arrivedAtMs - sentAtMs);
  const row = (name: string, values: readonly number[]) => [
    name,
    ...[0.5, 0.99, 1].map((rank) => percentile(values, rank).toFixed(2)),
  ];
  const names = [...POINTS.map(({ stage }) => stage), 'sender: until the webhook arrives'];
  return {
    title: 'The stages from an alarm event to its webhook',
    columns: ['', 'p50 ms', 'p99 ms', 'max ms'],
    rows: [
      ...names.map((name, index) =>
        row(
          name,
          stages.map((values) => values[index] ?? Number.NaN),
        ),
      ),
      row('all stages of an event', totals),
    ],
    note: `${journeys.length} events, in a stack that records the time of each call. The p99 of different stages are those of different events.`,
  };
};
