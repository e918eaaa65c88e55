import type { Generated } from 'kysely';

export interface SourceBudgetTables {
  source_budget: {
    target: string;
    second_used_until: Generated<Date>;
    minute_used_until: Generated<Date>;
    blocked_until: Generated<Date>;
  };
}
