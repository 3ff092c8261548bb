import { spawnSync } from 'node:child_process';

/** The commit of a deployment that is not known, such as that of an archive without git. */
export const UNKNOWN_COMMIT = 'unknown';

/**
 * Returns the commit of the working tree, which ends with `-dirty` if files differ, or else `GITHUB_SHA`. Only a deployment
 * asks for it, so that the templates of tests depend on no commit.
 */
export const currentCommit = (directory = import.meta.dirname, { GITHUB_SHA } = process.env): string => {
  const args = ['describe', '--always', '--dirty', '--exclude=*', '--abbrev=40'];
  const { status, stdout } = spawnSync('git', args, { cwd: directory, encoding: 'utf8' });
  return (status === 0 && stdout.trim()) || GITHUB_SHA || UNKNOWN_COMMIT;
};
