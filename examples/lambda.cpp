/* lambda.cpp: C++11 and later. The operation is a lambda with captures, and fails by an exception.
       c++ -o lambda examples/lambda.cpp && ./lambda */
#define _POSIX_C_SOURCE 200809L
#define RETRY_SYSTEM_CLOCK
#define RETRY_IMPLEMENTATION
#include "../retry.h"

#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>

/* An exception that says why, so that the library can decide. Any other one is final. */
struct attempt_failed : std::runtime_error {
    retry_failure failure;
    attempt_failed(const char *text, const retry_failure &why)
        : std::runtime_error(text), failure(why)
    {
    }
};

/* Calls operation(timeout), with the ms that one call may take, until it returns. What it threw
   last goes to the caller. */
template <typename Operation>
void with_retries(retry_operation &op, const retry_service *service, Operation operation)
{
    std::exception_ptr thrown;
    auto attempt = [&](retry_ms timeout, retry_failure *failure) -> bool {
        thrown = nullptr;
        try {
            operation(timeout);
        } catch (const attempt_failed &e) {
            *failure = e.failure;
            thrown = std::current_exception();
        } catch (...) {
            thrown = std::current_exception();
        }
        return !thrown;
    };
    auto call = [](void *context, const retry_operation *, const retry_step *step,
                   retry_failure *failure) {
        return (*static_cast<decltype(attempt) *>(context))(step->timeout, failure);
    };
    retry_clock clock = retry_system_clock();
    retry_step end = retry_run(&op, service, &clock, call, &attempt);
    if (thrown)
        std::rethrow_exception(thrown);
    if (end.verdict != RETRY_VERDICT_SUCCESS) /* a gate refused the first call */
        throw std::runtime_error(retry_cause_text(end.cause));
}

/* A server that is not there for three calls, then hangs up on each increment. */
class server
{
    int calls = 0;

  public:
    std::string get(const std::string &key)
    {
        std::cout << "get " << key << ", call " << ++calls << "\n";
        if (calls <= 3)
            throw attempt_failed(
                "refused",
                retry_classify_stage(RETRY_STAGE_DISPATCH, RETRY_REASON_SOCKET_NOT_AVAILABLE));
        return "42";
    }
    void increment(const std::string &key)
    {
        std::cout << "increment " << key << "\n";
        throw attempt_failed("connection lost", retry_classify_stage(RETRY_STAGE_IN_FLIGHT, 0));
    }
    void remove(const std::string &key)
    {
        throw std::out_of_range("there is no " + key);
    }
};

int main()
{
    static retry_service service;    /* one for each server */
    service.client.cut_after = 1000; /* ms */
    retry_service_init(&service, retry_system_clock().now(nullptr));

    server server;
    std::string key = "visits", value;
    retry_operation op = {};
    op.timeout = 5000; /* ms for all calls, and the waits between them */
    op.idempotent = true;
    with_retries(op, &service, [&](retry_ms) { value = server.get(key); });
    std::cout << key << " is " << value << "\n";

    op.idempotent = false;
    try {
        with_retries(op, &service, [&](retry_ms) { server.increment(key); });
    } catch (const std::exception &e) {
        std::cout << e.what() << (op.ambiguous ? ", perhaps done\n" : ", not done\n");
    }
    try {
        with_retries(op, &service, [&](retry_ms) { server.remove("page"); });
    } catch (const std::out_of_range &e) {
        std::cout << e.what() << "\n";
    }
}
