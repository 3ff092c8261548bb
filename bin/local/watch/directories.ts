import { type FSWatcher, readdirSync, statSync, watch } from 'node:fs';
import { join } from 'node:path';

/** Changes within this time are reported together: editors write a file in several steps, and tools many files. */
const WINDOW_MS = 50;

/**
 * Watches directories with their subdirectories, also those created later. Each directory has its own watcher, because
 * a recursive one on Linux loses files that an editor saves by renaming.
 *
 * @param onChange called with the absolute paths of files that were written, created, renamed or deleted
 * @returns a function that ends it
 */
export const watchDirectories = (roots: readonly string[], onChange: (paths: string[]) => void): (() => void) => {
  const watchers = new Map<string, FSWatcher>();
  const changed = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  const report = (path: string): void => {
    changed.add(path);
    timer ??= setTimeout(() => {
      timer = undefined;
      const paths = [...changed];
      changed.clear();
      onChange(paths);
    }, WINDOW_MS);
  };
  const remove = (directory: string): void => {
    for (const [path, watcher] of watchers) {
      if (path !== directory && !path.startsWith(`${directory}/`)) continue;
      watcher.close();
      watchers.delete(path);
    }
  };
  /** Watches a directory. Returns the paths of the files in it. */
  const add = (directory: string): string[] => {
    const watcher = watch(directory, (event, name) => {
      if (name === null) return;
      const path = join(directory, name);
      report(path);
      if (event === 'rename') refresh(path);
    });
    watcher.on('error', () => remove(directory));
    watchers.set(directory, watcher);
    return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
      const path = join(directory, entry.name);
      return entry.isDirectory() ? add(path) : [path];
    });
  };
  /** Watches a path again if it is a directory: it may be new, renamed or deleted. */
  const refresh = (path: string): void => {
    remove(path);
    if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) return;
    try {
      // Files may have been created before the directory was watched.
      for (const file of add(path)) report(file);
    } catch (error) {
      remove(path);
      if (!isDeleted(error)) throw error;
    }
  };
  for (const root of roots) add(root);
  return () => {
    clearTimeout(timer);
    for (const watcher of watchers.values()) watcher.close();
    watchers.clear();
  };
};

/** Returns whether a directory was deleted while it was read. */
const isDeleted = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'ENOENT';
