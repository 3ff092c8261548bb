import { createConfig, lintFromString } from '@redocly/openapi-core';
import { Ruleset, Spectral } from '@stoplight/spectral-core';
import { oas } from '@stoplight/spectral-rulesets';
import { describe, expect, it } from 'vitest';
import { openApiDocument } from '../../bin/openapi/openapi-document.ts';

/** Choosing a license is the decision of the owner, so the document has none. */
const IGNORED_RULE = 'info-license';

/** Returns the problems that `redocly lint` reports with its recommended rules. */
const redoclyProblems = async (document: object): Promise<string[]> => {
  const config = await createConfig({ extends: ['recommended'] });
  const problems = await lintFromString({ source: JSON.stringify(document), absoluteRef: 'openapi.json', config });
  return problems.map(({ ruleId, message }) => `${ruleId}: ${message}`);
};

/** Returns the problems that `spectral lint` reports with the recommended rules of `spectral:oas`. */
const spectralProblems = async (document: object): Promise<string[]> => {
  const spectral = new Spectral();
  spectral.setRuleset(new Ruleset({ extends: [[oas, 'recommended']] }));
  const problems = await spectral.run(JSON.parse(JSON.stringify(document)));
  return problems.map(({ code, message }) => `${code}: ${message}`);
};

describe('the OpenAPI document', () => {
  it('has no problem by the recommended rules of redocly, except that it names no license', async () => {
    const problems = await redoclyProblems(openApiDocument());
    expect(problems).toEqual([expect.stringContaining(`${IGNORED_RULE}: `)]);
  });

  it('has no problem by the recommended rules of spectral', async () => {
    expect(await spectralProblems(openApiDocument())).toEqual([]);
  });
});
