import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/*
 * The CPU share and memory of a Lambda function, enforced by Linux control groups (cgroup v1) rather than computed.
 */

/**
 * The memory at which a function has one vCPU; it has a proportional share of one below (AWS Lambda developer guide,
 * "Configure memory").
 */
export const MB_PER_VCPU = 1_769;
/**
 * A function that has used its share waits for the end of the period. Measurements on Lambda find periods of 20 ms
 * (github.com/pwrdrvr/lambda-dispatch, issue 246).
 */
const CPU_PERIOD_US = 20_000;
const UNLIMITED = '-1';
const ROOT = '/sys/fs/cgroup';

/** Returns the path of this process's group, below which new groups inherit its own limits. */
const ownGroup = (controller: string): string => {
  const line = readFileSync('/proc/self/cgroup', 'utf8')
    .split('\n')
    .find((each) => each.split(':')[1]?.split(',').includes(controller));
  if (line === undefined) throw new Error(`The controller ${controller} is not mounted as cgroup v1.`);
  return join(ROOT, controller, line.split(':').slice(2).join(':'));
};

let sequence = 0;

const createGroup = (controller: string): string => {
  try {
    const group = join(ownGroup(controller), `bench-memory-${process.pid}-${++sequence}`);
    mkdirSync(group);
    return group;
  } catch (error) {
    throw new Error('This benchmark needs root and cgroup v1, to limit CPU and memory as Lambda does.', {
      cause: error,
    });
  }
};

/** The limits of one process. */
export type Limits = {
  /** The files to which the process writes its ID before it allocates memory. */
  procs: readonly [cpu: string, memory: string];
  /** Limits the CPU to the share of the memory, or lifts that limit. */
  limitCpu: (isLimited: boolean) => void;
  /** Removes the groups, after the process has exited. */
  remove: () => void;
};

/**
 * Creates the limits of a function with this memory. The CPU is not limited at first, because Lambda gives a function
 * full CPU until its initialization ends, whatever its memory
 * (lucvandonkersgoed.com, "When is the Lambda Init Phase Free, and when is it Billed?").
 *
 * @throws Error if this process cannot create control groups
 */
export const createLimits = (memoryMb: number): Limits => {
  const [cpu, memory] = [createGroup('cpu'), createGroup('memory')];
  writeFileSync(join(memory, 'memory.limit_in_bytes'), String(memoryMb * 2 ** 20));
  writeFileSync(join(cpu, 'cpu.cfs_period_us'), String(CPU_PERIOD_US));
  return {
    procs: [join(cpu, 'cgroup.procs'), join(memory, 'cgroup.procs')],
    limitCpu: (isLimited) => {
      const quotaUs = Math.round((CPU_PERIOD_US * memoryMb) / MB_PER_VCPU);
      writeFileSync(join(cpu, 'cpu.cfs_quota_us'), isLimited ? String(quotaUs) : UNLIMITED);
    },
    remove: () => {
      for (const group of [cpu, memory]) rmdirSync(group);
    },
  };
};

/** Returns whether this process can create control groups. */
export const canLimit = (): boolean => {
  try {
    createLimits(MB_PER_VCPU).remove();
    return true;
  } catch {
    return false;
  }
};
