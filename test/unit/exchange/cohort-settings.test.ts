import { expect, test } from 'vitest';
import {
  cohortSettingsSchema,
  updateCohortBodySchema,
} from '../../../src/contract/cohorts.ts';
import { mergeCohortSettings } from '../../../src/exchange/people/cohorts/rules/cohort-settings.ts';

const defaults = cohortSettingsSchema.parse({});

test('a change of settings keeps, at every depth, what it does not name', () => {
  const first = mergeCohortSettings(defaults, {
    monitoring: {
      pharmacy: { schedule: { enabled: true, frequency: 'weekly' } },
      adt: { enabled: true },
    },
  });
  const second = mergeCohortSettings(first, {
    monitoring: {
      pharmacy: { notifications: true, schedule: { frequency: undefined } },
      hie: {},
    },
  });
  expect(second).toEqual({
    monitoring: {
      hie: { enabled: false, frequency: 'monthly' },
      adt: { enabled: true },
      pharmacy: {
        notifications: true,
        schedule: { enabled: true, frequency: 'weekly' },
      },
      laboratory: { notifications: false },
    },
  });
  expect(mergeCohortSettings(second, undefined)).toEqual(second);
});

test('a change is not filled up with defaults', () => {
  const body = { settings: { monitoring: { hie: { enabled: true } } } };
  expect(updateCohortBodySchema.parse(body)).toEqual(body);
  expect(updateCohortBodySchema.parse({})).toEqual({});
});
