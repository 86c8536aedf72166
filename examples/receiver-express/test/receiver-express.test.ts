// @boundaries-ignore the cases that every receiver must pass stand beside them
import { receiverContract } from "../../receiver-contract.js";

receiverContract(new URL("../src/main.mjs", import.meta.url));
