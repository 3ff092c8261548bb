import { expect, it } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';
import { deliveryTotals } from '../../shared/domain/delivery-metrics.ts';
import { readDocument } from '../support/documents.ts';
import { propertiesOf, synthesize } from '../support/stack.ts';

/** A metric as text: its namespace, its name and the names of its dimensions. */
const named = (namespace: string, name: string, dimensions: readonly string[]): string =>
  [namespace, name, ...dimensions.toSorted()].join(' ');

const { template } = synthesize({ expectedEventIntervalMinutes: '60' });

const metricsOfAlarms = (): string[] => {
  const metric = z
    .object({ Namespace: z.string(), MetricName: z.string(), Dimensions: z.array(z.object({ Name: z.string() })) })
    .transform(({ Namespace, MetricName, Dimensions }) =>
      named(
        Namespace,
        MetricName,
        Dimensions.map(({ Name }) => Name),
      ),
    );
  const query = z.object({ MetricStat: z.object({ Metric: metric }).optional() });
  const alarm = z.union([
    metric.transform((found) => [found]),
    z
      .object({ Metrics: z.array(query) })
      .transform(({ Metrics }) => Metrics.flatMap(({ MetricStat }) => MetricStat?.Metric ?? [])),
    // Metrics of the account have no dimensions.
    z
      .object({ Namespace: z.string(), MetricName: z.string() })
      .transform(({ Namespace, MetricName }) => [named(Namespace, MetricName, [])]),
  ]);
  return [...propertiesOf(template, 'AWS::CloudWatch::Alarm', alarm).values()].flat();
};

const metricsOfDashboard = (): string[] => {
  const body = z
    .object({ DashboardBody: z.object({ 'Fn::Join': z.tuple([z.string(), z.array(z.unknown())]) }) })
    .transform(({ DashboardBody: { 'Fn::Join': join } }) =>
      join[1].map((part) => (typeof part === 'string' ? part : 'resource')).join(join[0]),
    );
  const widgets = z.object({
    widgets: z.array(z.object({ properties: z.object({ metrics: z.array(z.array(z.unknown())).default([]) }) })),
  });
  return [...propertiesOf(template, 'AWS::CloudWatch::Dashboard', body).values()]
    .flatMap((text) => widgets.parse(JSON.parse(text)).widgets)
    .flatMap(({ properties }) => properties.metrics)
    .map((metric) => metric.filter((part) => typeof part === 'string'))
    .map(([namespace = '', name = '', ...pairs]) =>
      named(
        namespace,
        name,
        pairs.filter((_, index) => index % 2 === 0),
      ),
    );
};

const target = z.object({
  namespace: z.string(),
  metricName: z.string(),
  statistic: z.string(),
  dimensions: z.record(z.string(), z.string()),
  matchExact: z.literal(true),
});
const expression = z.object({ expression: z.string() });
const grafana = z
  .object({
    panels: z.array(z.object({ title: z.string(), targets: z.array(z.union([target, expression])) })),
    templating: z.object({ list: z.array(z.object({ name: z.string(), regex: z.string().optional() })) }),
  })
  .parse(JSON.parse(readDocument('docs/grafana-dashboard.json')));
const targets = grafana.panels
  .flatMap((panel) => panel.targets)
  .flatMap((each) => ('metricName' in each ? [each] : []));

const existing = new Set([...metricsOfAlarms(), ...metricsOfDashboard()]);

it('the dashboard for Grafana shows only metrics that the stack has', () => {
  const shown = targets.map(({ namespace, metricName, dimensions }) =>
    named(namespace, metricName, Object.keys(dimensions)),
  );
  expect(shown.filter((metric) => !existing.has(metric))).toEqual([]);
});

it('the dashboard for Grafana shows every count of deliveries, as a sum', () => {
  const sums = targets.filter(({ statistic }) => statistic === 'Sum').map(({ metricName }) => metricName);
  expect(sums).toEqual(expect.arrayContaining([...deliveryTotals]));
});

it('the dashboard for Grafana shows the queues for first attempts, and no others', () => {
  const regex = grafana.templating.list.find(({ name }) => name === 'queue')?.regex ?? '';
  const pattern = new RegExp(regex.slice(1, -1).replace('$stack', 'Prod'));
  const ids = Object.keys(template.findResources('AWS::SQS::Queue'));
  const shown = ids.filter((id) => pattern.test(`Prod-${id}-1A2B3C4D`));
  expect(shown).toEqual(ids.filter((id) => /Queue[0-9A-F]{8}$/.test(id) && !id.startsWith('CrashedQueue')));
  expect(shown.length).toBeGreaterThan(8);
});

it('both dashboards show the failing tenants of the rule, and the alarms, by the names that they have', () => {
  const rules = propertiesOf(template, 'AWS::CloudWatch::InsightRule', z.object({ RuleName: z.string() }));
  const [{ RuleName: rule } = { RuleName: '' }] = [...rules.values()];
  const asked = grafana.panels
    .flatMap((panel) => panel.targets)
    .flatMap((each) => ('expression' in each ? [each.expression] : []));
  const named = rule.replace('MonitoringNotifications', '$stack');
  expect(asked.length).toBeGreaterThan(0);
  expect(asked.filter((text) => !text.startsWith(`INSIGHT_RULE_METRIC("${named}",`))).toEqual([]);
  const dashboards = JSON.stringify(template.findResources('AWS::CloudWatch::Dashboard'));
  expect(dashboards).toContain(`\\"ruleName\\":\\"${rule}\\"`);
  const alarmIds = Object.keys(template.findResources('AWS::CloudWatch::Alarm'));
  for (const id of alarmIds) expect(dashboards).toContain(`"Fn::GetAtt":["${id}","Arn"]`);
});

it('the Prometheus exporter reads only metrics that the stack has: every count of deliveries, and what alarms read', () => {
  const name = z.object({ name: z.string() });
  const job = z.object({ namespace: z.string(), dimensions: z.array(name).default([]), metrics: z.array(name) });
  const found = z.object({
    type: z.string(),
    dimensionNameRequirements: z.array(z.string()),
    metrics: z.array(name),
  });
  const config = z
    .object({ static: z.array(job), discovery: z.object({ jobs: z.array(found) }) })
    .parse(parse(readDocument('docs/yace.yaml')));
  const jobs = [
    ...config.static,
    ...config.discovery.jobs.map(({ type, dimensionNameRequirements, metrics }) => ({
      namespace: type,
      dimensions: dimensionNameRequirements.map((dimension) => ({ name: dimension })),
      metrics,
    })),
  ];
  const read = jobs.flatMap(({ namespace, dimensions, metrics }) =>
    metrics.map((metric) =>
      named(
        namespace,
        metric.name,
        dimensions.map((dimension) => dimension.name),
      ),
    ),
  );
  expect(read.filter((metric) => !existing.has(metric))).toEqual([]);
  const counts = deliveryTotals.map((total) => named('MonitoringNotifications', total, ['service']));
  expect(read).toEqual(expect.arrayContaining([...counts, ...metricsOfAlarms()]));
});
