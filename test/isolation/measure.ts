import { setTimeout as sleep } from 'node:timers/promises';
import { newAlarmEvent } from '../support/events.ts';
import { percentile } from '../support/percentile.ts';
import { type Arena, createWebhook, openArena } from './arena.ts';
import type { Attacker } from './attackers.ts';

/** Latencies of a neighbor in ms, and how many of its probes had no result `GRACE_MS` after the last. */
export type Figures = { p50: number; max: number; missing: number };

/** The figures of a neighbor, by when its probes started. */
export type Isolation = {
  alone: Figures;
  /** Beside endpoints that hang: the first minute of the attack. */
  firstMinute?: Figures;
  beside: Figures;
};

/** How often a neighbor gets an alert, in ms, and how many at the start. By email: 24 during an attack. */
const PROBES = { webhook: { everyMs: 250, warmUp: 300 }, email: { everyMs: 830, warmUp: 30 } };
const ALONE_MS = 10_000;
const MINUTE_MS = 60_000;
/** How long the attack lasts, after the first minute if its endpoints hang. */
const ATTACK_MS = 20_000;
const GRACE_MS = 30_000;

/** How much longer than alone a probe may take beside an attacker, in ms. */
const MAX_DELAY_MS = 2_000;
/** How long first attempts may take in the first minute beside endpoints that hang, in ms. */
const MAX_FIRST_MINUTE_MS = 20_000;

type Probe = () => Promise<void>;

const createNeighbor = async (
  { newClient, sendEvent, arrivalOf, origin }: Arena,
  { neighbor }: Attacker,
): Promise<Probe> => {
  const client = await newClient();
  const id =
    neighbor === 'email'
      ? await client.create({ label: 'email', type: 'email', details: { address: 'neighbor@example.com' } })
      : await createWebhook(client, `${origin}/neighbor`);
  return async () => {
    const planned = newAlarmEvent(client.tenant, [id]);
    const event = { ...planned, entity: { ...planned.entity, label: planned.event_id } };
    const arrival = arrivalOf(event);
    await sendEvent(event);
    await arrival;
  };
};

type Sample = { startedAtMs: number; latencyMs?: number };

/** Probes at a steady rate without waiting for results. */
const startSampling = (probe: Probe, everyMs: number) => {
  const samples: Sample[] = [];
  const run = async (): Promise<void> => {
    const sample: Sample = { startedAtMs: Date.now() };
    samples.push(sample);
    await probe();
    sample.latencyMs = Date.now() - sample.startedAtMs;
  };
  const timer = setInterval(() => void run().catch(() => undefined), everyMs);
  const isComplete = () => samples.every(({ latencyMs }) => latencyMs !== undefined);
  return {
    /** Ends sampling, and waits for the results. */
    async end(): Promise<readonly Sample[]> {
      clearInterval(timer);
      const deadlineMs = Date.now() + GRACE_MS;
      while (!isComplete() && Date.now() < deadlineMs) await sleep(100);
      return samples;
    },
  };
};

/** Attacks repeatedly until it is ended. @throws the error of an attack */
const startAttacks = (attack: () => Promise<unknown>, everyMs: number) => {
  const attacks: Promise<unknown>[] = [];
  const run = () => {
    const attacked = attack();
    // The end awaits it.
    attacked.catch(() => undefined);
    attacks.push(attacked);
  };
  run();
  const timer = setInterval(run, everyMs);
  return {
    stop: () => clearInterval(timer),
    ended: async () => void (await Promise.all(attacks)),
  };
};

const figuresOf = (samples: readonly Sample[], fromMs: number, toMs: number): Figures => {
  const inPeriod = samples.filter(({ startedAtMs }) => startedAtMs >= fromMs && startedAtMs < toMs);
  const latenciesMs = inPeriod.flatMap(({ latencyMs }) => latencyMs ?? []);
  return {
    p50: percentile(latenciesMs, 0.5),
    max: percentile(latenciesMs, 1),
    missing: inPeriod.length - latenciesMs.length,
  };
};

/** Measures the neighbor of an attacker in a stack of their own: alone, then beside the attacker. */
export const measureIsolation = async (attacker: Attacker): Promise<Isolation> => {
  const { everyMs, warmUp } = PROBES[attacker.neighbor ?? 'webhook'];
  const arena = await openArena();
  try {
    const probe = await createNeighbor(arena, attacker);
    const attack = await attacker.prepare(arena);
    await Promise.all(Array.from({ length: warmUp }, probe));
    const sampling = startSampling(probe, everyMs);
    await sleep(ALONE_MS);
    const attackedAtMs = Date.now();
    const attacks = startAttacks(attack, attacker.everyMs);
    const besideAtMs = attackedAtMs + (attacker.isHanging ? MINUTE_MS : 0);
    await sleep(besideAtMs + ATTACK_MS - Date.now());
    attacks.stop();
    const samples = await sampling.end();
    await attacks.ended();
    return {
      alone: figuresOf(samples, 0, attackedAtMs),
      ...(attacker.isHanging && { firstMinute: figuresOf(samples, attackedAtMs, besideAtMs) }),
      beside: figuresOf(samples, besideAtMs, Number.POSITIVE_INFINITY),
    };
  } finally {
    await arena.close();
  }
};

/** Returns whether an attacker delayed its neighbor by no more than version 4 permits. */
export const isIsolated = ({ alone, firstMinute, beside }: Isolation): boolean =>
  alone.missing + beside.missing + (firstMinute?.missing ?? 0) === 0 &&
  (firstMinute?.max ?? 0) <= MAX_FIRST_MINUTE_MS &&
  beside.max <= alone.max + MAX_DELAY_MS;
