import { tmpdir } from 'node:os';
import { describe, expect, it } from 'vitest';
import { currentCommit } from '../../lib/app.ts';

describe('the commit of a deployment', () => {
  it('is that of GitHub without git, and otherwise unknown', () => {
    expect(currentCommit(tmpdir(), { GITHUB_SHA: 'abc' })).toBe('abc');
    expect(currentCommit(tmpdir(), {})).toBe('unknown');
  });
});
