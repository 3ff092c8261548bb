import { z } from 'zod';
import type { Measurement } from './metric-store.ts';

const dimensionSet = z.array(z.string()).max(30);
const directive = z.object({
  Namespace: z.string().min(1).max(1024),
  Dimensions: z.array(dimensionSet),
  Metrics: z.array(z.object({ Name: z.string().min(1).max(1024), Unit: z.string().optional() })).max(100),
});
const embedded = z.looseObject({
  _aws: z.object({ Timestamp: z.number(), CloudWatchMetrics: z.array(directive) }),
});
const values = z.union([z.number().transform((value) => [value]), z.array(z.number()).max(100)]);
const dimensionValue = z.string().min(1).max(1024);

/**
 * Returns the measurements of a log line in the embedded metric format (EMF), or none for other lines.
 *
 * @throws ZodError if CloudWatch Logs would drop the metrics and count `EMFValidationErrors` or `EMFParsingErrors`
 */
export const embeddedMeasurements = (line: Record<string, unknown>): Measurement[] => {
  if (!('_aws' in line)) return [];
  const root = embedded.parse(line);
  const { Timestamp: timestampMs, CloudWatchMetrics: directives } = root._aws;
  return directives.flatMap(({ Namespace: namespace, Dimensions, Metrics }) =>
    Dimensions.flatMap((names) => {
      const dimensions = Object.fromEntries(names.map((name) => [name, dimensionValue.parse(root[name])]));
      return Metrics.flatMap(({ Name: name }) =>
        values
          .parse(root[name])
          .map((value): Measurement => ({ metric: { namespace, name, dimensions }, value, timestampMs })),
      );
    }),
  );
};
