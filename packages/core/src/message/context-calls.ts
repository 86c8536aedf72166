import type { CallOptions } from "../queue/request-flush.js";
import type {
  GroupCall,
  IdentifyCall,
  PageCall,
  ScreenCall,
  TrackCall,
  TrackingPlan,
} from "./tracking-plan.js";

/** A call whose ids may come from `withContext`. Distributes over the shapes of a tracking plan. */
type IdsOptional<Call> = Call extends unknown
  ? Omit<Call, "userId" | "anonymousId"> & {
      userId?: string | number | undefined;
      anonymousId?: string | number | undefined;
    }
  : never;

/** The calls of a client for code that runs within `withContext`: they need no id of their own. */
export interface ContextCalls<Plan extends TrackingPlan, Answer> {
  identify(call: IdsOptional<IdentifyCall<Plan>>, options?: CallOptions): Answer;
  track(call: IdsOptional<TrackCall<Plan>>, options?: CallOptions): Answer;
  page(call: IdsOptional<PageCall<Plan>>, options?: CallOptions): Answer;
  screen(call: IdsOptional<ScreenCall<Plan>>, options?: CallOptions): Answer;
  group(call: IdsOptional<GroupCall<Plan>>, options?: CallOptions): Answer;
}
