import { describe, expect, it } from 'vitest';
import { floorUnits, PRODUCER } from '../bench/cost/floor.ts';
import { billPerMillion } from '../bench/cost/prices.ts';

describe('the cost of alerts', () => {
  it("includes the producer's message with its fee for fair queues, because it has the tenant as its group", () => {
    // A request of $0.40 and a fee of $0.10 per million.
    expect(billPerMillion(PRODUCER).queues).toBeCloseTo(0.5);
  });

  it('includes the fee of both messages of an alert: to the alarm-events queue and to the queue of its type', () => {
    // 1.5 requests in batches of ten and 6 in batches of one, and two fees.
    expect(billPerMillion(floorUnits(10)).queues).toBeCloseTo(0.8);
    expect(billPerMillion(floorUnits(1)).queues).toBeCloseTo(2.6);
  });
});
