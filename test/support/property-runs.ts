import fc from 'fast-check';
import { runs } from './quick-run.ts';

/** Properties without `numRuns`. */
fc.configureGlobal({ numRuns: runs(100) });
