import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Mutation } from '../engine/service-code.ts';
import { writeTemplate } from '../template.ts';
import { smallCases } from './cases.ts';
import { describeExploration, exploreCases } from './explore-cases.ts';

let template: ReturnType<typeof writeTemplate>;
beforeAll(() => {
  template = writeTemplate();
});
afterAll(() => template.remove());

const END = 'shared/pipeline/sender/claimed-delivery.ts';

/** Defects, and the cases that find them. */
const defects: readonly { name: string; caseName: string; faults: number; mutations: readonly Mutation[] }[] = [
  {
    name: 'a claim has no condition',
    caseName: 'a webhook',
    faults: 0,
    mutations: [
      {
        file: 'shared/adapters/deliveries/delivery-repository.ts',
        find: "            ConditionExpression: 'attribute_not_exists(pk)',\n",
        replace: '',
      },
    ],
  },
  {
    name: 'a retry is sent before its record is updated, and the error of the update is ignored',
    caseName: 'a webhook that fails at first',
    faults: 1,
    mutations: [
      { file: END, find: 'await this.persist(withNextAttempt(record, this.nowMs + waitMs));', replace: '' },
      {
        file: END,
        find: "this.#logFailure('retried'",
        replace:
          "await this.write(withNextAttempt(record, this.nowMs + waitMs)).catch(() => undefined);\n    this.#logFailure('retried'",
      },
    ],
  },
];

describe('a delivery by two workers', () => {
  it('keeps its promises in all orders of their calls and with each fault', async () => {
    const explorations = await exploreCases({ template: template.file });
    expect(explorations.filter(({ violations }) => violations.length > 0).flatMap(describeExploration)).toEqual([]);
    expect(explorations.map(({ name }) => name).toSorted()).toEqual(smallCases.map(({ name }) => name).toSorted());
    for (const { states, paths } of explorations) {
      expect(states).toBeGreaterThan(50);
      expect(paths).toBeGreaterThan(10);
    }
  });

  it.each(defects)('breaks a promise in one of them if $name', async ({ caseName, faults, mutations }) => {
    const [exploration] = await exploreCases({ template: template.file, mutations, names: [caseName], faults });
    expect(exploration?.violations.length).toBeGreaterThan(0);
  });
});
