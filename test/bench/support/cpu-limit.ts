import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The memory at which a function has one vCPU; it has a proportional share of one below (AWS Lambda developer guide,
 * "Configure memory").
 */
const MB_PER_VCPU = 1_769;
/**
 * A function that has used its share waits for the end of the period. Measurements on Lambda find periods of 20 ms
 * (github.com/pwrdrvr/lambda-dispatch, issue 246).
 */
const CPU_PERIOD_US = 20_000;
const ROOT = '/sys/fs/cgroup/cpu';

/** The group of this process for the controller `cpu`, below which new groups inherit its own limits. */
const ownGroup = (): string =>
  /^\d+:[\w,]*\bcpu\b[\w,]*:(.*)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8'))?.[1] ?? '';

/**
 * Limits the CPU of a process to the share of a function, with a control group of Linux (cgroup v1).
 *
 * @returns a function that removes the group after the process has exited
 * @throws Error if this process cannot create control groups
 */
export const limitCpu = (pid: number, memoryMb: number): (() => void) => {
  const group = join(ROOT, ownGroup(), `bench-${pid}`);
  const write = (file: string, value: number) => writeFileSync(join(group, file), String(value));
  try {
    mkdirSync(group);
    write('cpu.cfs_period_us', CPU_PERIOD_US);
    write('cpu.cfs_quota_us', Math.round((CPU_PERIOD_US * memoryMb) / MB_PER_VCPU));
    write('cgroup.procs', pid);
  } catch (cause) {
    throw new Error('Limiting the CPU as Lambda does needs root and cgroup v1.', { cause });
  }
  return () => rmdirSync(group);
};
